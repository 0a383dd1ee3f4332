/**
 * The set of values for which a simple guard holds, so that two guards can be compared. Other guards have no region, and nothing
 * is concluded about them.
 */
import { parseExpr, pathOfAst, spellsNumber } from '@sluice-internal/kernel/expr';
import type { Ast } from '@sluice-internal/kernel/expr';

type Literal = string | number | boolean;
type Values =
  | { readonly is: 'in'; readonly values: readonly Literal[] }
  | { readonly is: 'not-in'; readonly values: readonly Literal[] }
  | {
      readonly is: 'between';
      readonly low: number;
      readonly lowOpen: boolean;
      readonly high: number;
      readonly highOpen: boolean;
    };
export interface Region {
  readonly path: string;
  readonly values: Values;
}

export function regionOf(source: string): Region | null {
  try {
    return regionOfAst(parseExpr(source));
  } catch {
    return null;
  }
}

export function isEmpty({ values }: Region): boolean {
  if (values.is === 'in') return values.values.length === 0;
  return (
    values.is === 'between' &&
    (values.low > values.high || (values.low === values.high && (values.lowOpen || values.highOpen)))
  );
}

/** True if a value can be in both. */
export function overlap(a: Region, b: Region): boolean {
  if (a.path !== b.path || isEmpty(a) || isEmpty(b)) return false;
  const values = intersect(a.values, b.values);
  // Null is an interval with holes, which has no simple form.
  return values === null || !isEmpty({ path: a.path, values });
}

/** True if every value of the first is in the second. */
export function within(inner: Region, outer: Region): boolean {
  if (inner.path !== outer.path) return false;
  const [a, b] = [inner.values, outer.values];
  if (a.is === 'in') return a.values.every((value) => holds(b, value));
  if (b.is === 'not-in')
    return a.is === 'not-in'
      ? b.values.every((value) => a.values.includes(value))
      : b.values.every((value) => !holds(a, value));
  if (a.is !== 'between' || b.is !== 'between') return false;
  const low = b.low < a.low || (b.low === a.low && (!b.lowOpen || a.lowOpen));
  const high = b.high > a.high || (b.high === a.high && (!b.highOpen || a.highOpen));
  return low && high;
}

function regionOfAst(ast: Ast): Region | null {
  switch (ast.op) {
    case '==':
    case '!=':
      return equality(ast.op, ast.args[0], ast.args[1]);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparison(ast.op, ast.args[0], ast.args[1]);
    case 'in':
      return membership(ast.args[0], ast.args[1]);
    case '&&':
    case '||':
      return combination(ast.op, regionOfAst(ast.args[0]), regionOfAst(ast.args[1]));
    default:
      return null;
  }
}

function equality(op: '==' | '!=', left: Ast, right: Ast): Region | null {
  const sides = pathAndLiteral(left, right);
  if (sides === null) return null;
  return { path: sides.path, values: { is: op === '==' ? 'in' : 'not-in', values: [sides.literal] } };
}

function membership(item: Ast, list: Ast): Region | null {
  const path = pathOfAst(item);
  const items = list.op === 'list' ? list.args.map(literalOf) : [];
  if (path === null || items.length === 0 || items.includes(null)) return null;
  return { path: path.join('.'), values: { is: 'in', values: items as Literal[] } };
}

function combination(op: '&&' | '||', a: Region | null, b: Region | null): Region | null {
  if (a === null || b === null || a.path !== b.path) return null;
  const values = op === '&&' ? intersect(a.values, b.values) : unite(a.values, b.values);
  return values === null ? null : { path: a.path, values };
}

const MIRROR = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

function comparison(op: keyof typeof MIRROR, left: Ast, right: Ast): Region | null {
  const sides = pathAndLiteral(left, right);
  if (sides === null || typeof sides.literal !== 'number') return null;
  const direction = sides.mirrored ? MIRROR[op] : op;
  const at = sides.literal;
  const open = direction === '<' || direction === '>';
  const values: Values =
    direction === '<' || direction === '<='
      ? { is: 'between', low: -Infinity, lowOpen: false, high: at, highOpen: open }
      : { is: 'between', low: at, lowOpen: open, high: Infinity, highOpen: false };
  return { path: sides.path, values };
}

function pathAndLiteral(
  left: Ast,
  right: Ast,
): { readonly path: string; readonly literal: Literal; readonly mirrored: boolean } | null {
  const [path, literal] = [pathOfAst(left), literalOf(right)];
  if (path !== null && literal !== null) return { path: path.join('.'), literal, mirrored: false };
  const [other, first] = [pathOfAst(right), literalOf(left)];
  return other !== null && first !== null ? { path: other.join('.'), literal: first, mirrored: true } : null;
}

function literalOf(ast: Ast): Literal | null {
  if (ast.op === '-_') {
    const inner = literalOf(ast.args);
    return typeof inner === 'number' ? -inner : null;
  }
  if (ast.op !== 'value') return null;
  const value = ast.args;
  if (typeof value === 'bigint') return Number(value);
  // A guard compares such a text with a number as a number, but with another text as a text.
  if (typeof value === 'string') return spellsNumber(value) ? null : value;
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

function holds(values: Values, value: Literal): boolean {
  if (values.is !== 'between') return values.values.includes(value) === (values.is === 'in');
  if (typeof value !== 'number') return false;
  const above = values.lowOpen ? value > values.low : value >= values.low;
  return above && (values.highOpen ? value < values.high : value <= values.high);
}

/** Null where the result has no simple form. */
function intersect(a: Values, b: Values): Values | null {
  if (a.is === 'in') return { is: 'in', values: a.values.filter((value) => holds(b, value)) };
  if (b.is === 'in') return intersect(b, a);
  if (a.is === 'not-in')
    return b.is === 'not-in' ? { is: 'not-in', values: [...a.values, ...b.values] } : without(b, a.values);
  if (b.is === 'not-in') return without(a, b.values);
  const lowA = a.low > b.low || (a.low === b.low && a.lowOpen);
  const highA = a.high < b.high || (a.high === b.high && a.highOpen);
  return {
    is: 'between',
    low: lowA ? a.low : b.low,
    lowOpen: lowA ? a.lowOpen : b.lowOpen,
    high: highA ? a.high : b.high,
    highOpen: highA ? a.highOpen : b.highOpen,
  };
}

function without(interval: Extract<Values, { is: 'between' }>, values: readonly Literal[]): Values | null {
  const holes = values.filter((value) => holds(interval, value));
  if (holes.length === 0) return interval;
  return interval.low === interval.high ? { is: 'in', values: [] } : null;
}

function unite(a: Values, b: Values): Values | null {
  return a.is === 'in' && b.is === 'in' ? { is: 'in', values: [...a.values, ...b.values] } : null;
}
