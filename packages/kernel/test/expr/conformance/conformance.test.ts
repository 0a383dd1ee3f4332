/**
 * The public CEL conformance suite. A failure without an exclusion fails the test, and so does an exclusion that is no
 * longer needed.
 */
import { describe, expect, test } from 'vitest';
import { equals } from '../../../src/expr/operators.ts';
import { compileValue } from '../../../src/expr/evaluate.ts';
import { typeOf } from '../../../src/expr/value.ts';
import type { Value } from '../../../src/expr/value.ts';
import { loadCases } from './cases.ts';
import type { Case } from './cases.ts';
import exclusions from './exclusions.json' with { type: 'json' };

const { runnable, protobuf, typesOnly } = loadCases();
const rules = Object.entries(exclusions).map(([pattern, reason]) => ({ pattern, reason, regex: globToRegex(pattern) }));
const ruleOf = (id: string) => rules.find(({ regex }) => regex.test(id));

describe('CEL conformance', () => {
  test('every case passes or is excluded for a reason', () => {
    const counted = runnable.filter((each) => ruleOf(each.id) === undefined);
    const unexplained = counted.flatMap((each) => problemOf(each) ?? []);
    const passed = counted.length - unexplained.length;
    const offered = runnable.filter((each) => !isExtension(ruleOf(each.id)?.reason));
    const rate = (of: readonly Case[]) => `${passed} of ${of.length} (${((100 * passed) / of.length).toFixed(1)} %)`;
    console.log(
      `CEL conformance: ${rate(offered)} of the language and the functions offered pass; ${rate(runnable)} with every extension`,
    );
    console.log(`not run: ${protobuf.length} need protobuf messages, ${typesOnly.length} state a static type only`);
    for (const [reason, count] of countsByReason()) console.log(`  excluded ${String(count).padStart(4)}  ${reason}`);
    expect(unexplained).toEqual([]);
    expect(counted.length).toBeGreaterThan(1_000);
  });

  test.each(rules)('the exclusion $pattern is still needed', ({ regex, reason }) => {
    const matched = runnable.filter((each) => regex.test(each.id));
    expect(matched.length).toBeGreaterThan(0);
    // A function that is not offered fails where a failure is expected; that is no reason to list those cases apart.
    const passing = matched.filter(
      (each) => !(isExtension(reason) && each.expected === 'error') && problemOf(each) === null,
    );
    expect(passing.map((each) => each.id)).toEqual([]);
  });

  test.each(runnable.filter((each) => each.id.startsWith('string/matches/')))(
    're does what matches would: $expr',
    (each) => {
      expect(problemOf({ ...each, expr: each.expr.replace('.matches(', '.re(') })).toBeNull();
    },
  );
});

function problemOf({ id, expr, bindings, expected }: Case): string | null {
  let got: Value;
  try {
    got = compileValue(expr)(bindings);
  } catch (cause) {
    return expected === 'error' ? null : `${id}: ${expr} fails: ${String(cause)}`;
  }
  if (expected !== 'error' && same(got, expected.value)) return null;
  return `${id}: ${expr} gives ${typeOf(got)} ${show(got)}, expected ${expected === 'error' ? 'an error' : show(expected.value)}`;
}

/** Equal with the same type: CEL's own equality would let 1 pass for 1.0. */
function same(a: Value, b: Value): boolean {
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  return typeOf(a) === typeOf(b) && equals({ scope: {}, locals: [], fuel: 1e6 }, a, b);
}

function show(value: Value): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
}

function isExtension(reason: string | undefined): boolean {
  return reason?.startsWith('Extension not offered') ?? false;
}

function countsByReason(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id } of runnable) {
    const reason = ruleOf(id)?.reason;
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

function globToRegex(pattern: string): RegExp {
  return new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
}
