/** Type checks of operators and calls. */
import { FUNCTIONS, FUNCTION_NAMES, callProblem, isSearch, spellsNumber } from '@sluice-internal/kernel/expr';
import type { Ast, Json, Kind } from '@sluice-internal/kernel/expr';
import { problem, regexProblem, type Problem } from './problem.ts';
import { ANY, BOOL, STRING, literalType, type Type } from './type.ts';
import { didYouMean, quoted } from '../source/nearest.ts';

export interface Operands {
  readonly node: Ast & { readonly args: readonly [Ast, Ast] };
  readonly left: Type;
  readonly right: Type;
  /** True if a number and a text that spells a number are compared as numbers. */
  readonly guard: boolean;
}

export function checkEquality({ node, left, right, guard }: Operands): Problem | null {
  const [a, b] = node.args;
  if (guard && areNumbers(left, right))
    return checkEquality({ node, left: asNumber(left), right: asNumber(right), guard: false });
  const always = node.op === '==' ? 'false' : 'true';
  if (!isOpen(left) && !isOpen(right) && left.kind !== right.kind) {
    return problem('type', node, `a ${left.kind} is compared with a ${right.kind}, which is always ${always}`);
  }
  // Two literals make a constant, not a misspelt value.
  if (a.op === 'value' && b.op === 'value') return null;
  return b.op === 'value' ? impossible(b, left, right) : a.op === 'value' ? impossible(a, right, left) : null;
}

export function checkMembership({ node, left, right }: Omit<Operands, 'guard'>): (Problem | null)[] {
  const [, container] = node.args;
  if (!['list', 'map', 'any', 'null'].includes(right.kind))
    return [problem('type', container, `\`in\` needs a list or a map, not ${right.kind}`)];
  if (container.op !== 'list') return [];
  return container.args.map((item) => (item.op === 'value' ? impossible(item, left, literalType(item.args)) : null));
}

const ORDERED: ReadonlySet<Kind> = new Set(['number', 'string', 'bool', 'bytes', 'timestamp', 'duration', 'any']);

export function checkOrder({ node, left, right, guard }: Operands): Problem | null {
  if (guard && areNumbers(left, right)) return null;
  const unordered = [left, right].find((type) => !ORDERED.has(type.kind));
  if (unordered !== undefined)
    return problem('type', node, `a ${unordered.kind} has no order, so \`${node.op}\` is always false`);
  if (isOpen(left) || isOpen(right) || left.kind === right.kind) return null;
  return problem('type', node, `a ${left.kind} is compared with a ${right.kind}, which is always false`);
}

/** A number, and a text that always spells one. */
function areNumbers(left: Type, right: Type): boolean {
  const text = left.kind === 'number' ? right : right.kind === 'number' ? left : null;
  if (text?.kind !== 'string' || text.values === undefined) return false;
  return text.values.every((value) => typeof value === 'string' && spellsNumber(value));
}

function asNumber({ values }: Type): Type {
  return values === undefined ? { kind: 'number' } : { kind: 'number', values: values.map(Number) };
}

/** The type of the result, or the problem. */
export function checkArithmetic({ node, left, right }: Omit<Operands, 'guard'>): Type | Problem {
  const { op } = node;
  if (left.kind === 'any' && right.kind === 'any') return ANY;
  const rule = RULES.find(([a, ops, b]) => fits(left, a) && fits(right, b) && ops.includes(op));
  if (rule === undefined) {
    const texts = op === '+' && (left.kind === 'string' || right.kind === 'string');
    return problem(
      'type',
      node,
      `\`${op}\` does not work between ${left.kind} and ${right.kind}`,
      texts ? 'Write `text(x)` to turn a value into text.' : undefined,
    );
  }
  return left.kind === 'any' || right.kind === 'any' ? ANY : { kind: rule[3] };
}

const RULES: readonly (readonly [Kind, string, Kind, Kind])[] = [
  ['number', '+-*/%', 'number', 'number'],
  ['string', '+', 'string', 'string'],
  ['list', '+', 'list', 'list'],
  ['bytes', '+', 'bytes', 'bytes'],
  ['duration', '+-', 'duration', 'duration'],
  ['timestamp', '+-', 'duration', 'timestamp'],
  ['duration', '+', 'timestamp', 'timestamp'],
  ['timestamp', '-', 'timestamp', 'duration'],
];

function fits(type: Type, kind: Kind): boolean {
  return type.kind === kind || type.kind === 'any';
}

function isOpen(type: Type): boolean {
  return type.kind === 'any' || type.kind === 'null';
}

/** A literal that a value with known choices can never equal. */
function impossible(literalNode: Ast, other: Type, wanted: Type): Problem | null {
  const [value] = wanted.values ?? [];
  const choices = other.values;
  if (value === undefined || value === null || choices === undefined || choices.length < 1 || choices.includes(value))
    return null;
  if (other.kind !== wanted.kind)
    return problem('never', literalNode, `a ${other.kind} is compared with a ${wanted.kind}, which never holds`);
  const texts = typeof value === 'string' ? choices.filter((each) => typeof each === 'string') : [];
  const help = didYouMean(show(value), texts, `It is one of ${quoted(choices.map(show))}.`);
  return problem('never', literalNode, `the value is never \`${show(value)}\``, help);
}

function show(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Calls that have the value of their last argument. */
const WRAPPERS: ReadonlySet<string> = new Set(['strict', 'guard', 'rule']);

export function inferCall(
  node: Ast & { op: 'call' | 'rcall' },
  typeOf: (arg: Ast) => Type,
): { type: Type; problems: Problem[] } {
  const method = node.op === 'rcall';
  const name = node.args[0];
  const args = method ? [node.args[1], ...node.args[2]] : node.args[1];
  const [first] = args;
  if (name === 'has' && !method && args.length === 1 && first?.op === '.') {
    typeOf(first.args[0]);
    return { type: BOOL, problems: [] };
  }
  const types = args.map(typeOf);
  const wrong = callProblem({ name, method, count: args.length });
  if (wrong !== null) return { type: ANY, problems: [unusable(node, name, wrong)] };
  if (name === 'text') return { type: STRING, problems: [] };
  if (WRAPPERS.has(name)) return { type: types.at(-1) ?? ANY, problems: [] };
  if (isSearch(name)) return { type: BOOL, problems: checkSearch(name, args as [Ast, Ast], types as [Type, Type]) };
  const fn = FUNCTIONS.get(name);
  const problems = args.flatMap((arg, i) => {
    const kinds = fn?.params[i] ?? ['any'];
    const kind = types[i]?.kind ?? 'any';
    const fits = kind === 'any' || kind === 'null' || kinds.includes('any') || kinds.includes(kind);
    return fits ? [] : [problem('type', arg, `\`${name}\` needs ${kinds.join(' or ')} here, not ${kind}`)];
  });
  return { type: { kind: fn?.returns ?? 'any' }, problems };
}

function unusable(node: Ast & { op: 'call' | 'rcall' }, name: string, message: string): Problem {
  if (FUNCTION_NAMES.includes(name)) return problem('function', node, message);
  return problem(
    'function',
    node,
    message,
    name === 'not' ? 'Write `!`.' : didYouMean(name, FUNCTION_NAMES, undefined),
  );
}

function checkSearch(name: string, [text, pattern]: readonly [Ast, Ast], [type]: readonly [Type, Type]): Problem[] {
  const problems: Problem[] = [];
  if (!['string', 'any', 'null'].includes(type.kind))
    problems.push(problem('type', text, `\`${name}\` needs string here, not ${type.kind}`));
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    problems.push(problem('pattern', pattern, `the pattern of \`${name}\` must be a string literal`));
  } else {
    const why = regexProblem(pattern.args);
    if (why !== null) problems.push(problem('pattern', pattern, `the pattern ${why.message}`, why.help));
  }
  return problems;
}
