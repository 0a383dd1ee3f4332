/** Conditions on a field of the JSON in a reply, for structured routes and for the end of a session. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Expr } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import type { Reading } from './model.ts';
import type { RawCondition } from './schema/conditions.ts';
import { MESSAGE } from './slots.ts';

const OPERATORS = ['Is', 'IsNot', 'Contains', 'Exists'] as const;

export function checkCondition(raw: RawCondition, path: Path, { body, report }: Reading): void {
  const set = OPERATORS.filter((operator) => raw[operator] !== undefined);
  if (set.length === 0 && !body.damaged(...path))
    report.error('missing-field', body.at(...path), `the condition on \`${raw.Field}\` has no operator`, {
      help: `Set one of ${OPERATORS.map((each) => `\`${each}\``).join(', ')}.`,
    });
  for (const extra of set.slice(1))
    report.warning('unused-field', body.key(...path, extra), `\`${extra}\` has no effect beside \`${set[0] ?? ''}\``, {
      help: 'Set one operator per condition.',
    });
}

/** The first operator that is set decides, in the documented order. Numbers are compared as written. */
export function conditionOf({ Field, Is, IsNot, Contains, Exists }: RawCondition): Expr {
  const is = (test: Expr): Expr => `cel.bind(v, ${fieldIn(`exactIn(${MESSAGE})`, Field)}, ${test})`;
  if (Is !== undefined) return is(`v != null && lower(text(v)) == lower(${quote(Is)})`);
  // A reply without an object matches no condition, not even a negative one.
  if (IsNot !== undefined)
    return `jsonIn(${MESSAGE}) != null && ${is(`v == null || lower(text(v)) != lower(${quote(IsNot)})`)}`;
  if (Contains !== undefined) return is(`v != null && containsIgnoreCase(text(v), ${quote(Contains)})`);
  return Exists === false ? `jsonIn(${MESSAGE}) != null && ${is('v == null')}` : is('v != null');
}

/** A field of an expression's value; dots lead into objects. */
export function fieldIn(of: Expr, field: string): Expr {
  const keys = field.split('.').map((key) => `[${quote(key)}]`);
  return of + keys.join('');
}

/** A condition as the label of an edge. */
export function wordsOf({ Field, Is, IsNot, Contains, Exists }: RawCondition): string {
  if (Is !== undefined) return `${Field} is ${Is}`;
  if (IsNot !== undefined) return `${Field} is not ${IsNot}`;
  if (Contains !== undefined) return `${Field} contains ${Contains}`;
  return Exists === false ? `no ${Field}` : Field;
}

/** A reply that meets the condition. */
export function replyFor({ Field, Is, Contains }: RawCondition): Json {
  return nestedAt(Field, Is ?? Contains ?? 'yes');
}

/** An object with the value at a path such as `a.b`. */
export function nestedAt(path: string, value: Json): Json {
  return path.split('.').reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}
