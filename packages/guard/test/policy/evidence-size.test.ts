/** Which results a verifier gets cut: those of reads first, the longest before the others, and never a failed or refused call. */
import { expect, test } from 'vitest';
import type { Call } from '@sluice-internal/engine/ports';
import type { Json } from '@sluice-internal/kernel/expr';
import { checkEvidence } from '../../src/policy/evidence-size.ts';

const seen = (id: string, tool: string, length: number, more: object = {}) => ({
  id,
  tool,
  args: {},
  ok: true,
  result: 'x'.repeat(length),
  ...more,
});

function sized(chars: number, observations: readonly object[]): unknown {
  const flow = { tools: { find: { effect: 'read' }, pay: { effect: 'financial' } } };
  const input = { observations: observations as unknown as Json, chars, rest: 500 };
  return checkEvidence({ command: { input }, flow } as unknown as Call);
}

const ALL = [seen('a', 'find', 30_000), seen('b', 'find', 50_000), seen('c', 'pay', 40_000)];

test.each<[number, readonly string[], boolean]>([
  [200_000, [], true],
  [100_000, ['b'], true],
  [50_000, ['b', 'a'], true],
  [10_000, ['b', 'a', 'c'], true],
  [4_000, ['b', 'a', 'c'], false],
])('%d characters', (chars, cut, fits) => {
  expect(sized(chars, ALL)).toEqual({ fits, cut: cut.map((id) => ({ id, keep: 1000 })) });
});

test('what was refused or failed is never cut', () => {
  const failed = seen('d', 'pay', 0, { ok: false, error: 'y'.repeat(30_000), result: null });
  expect(sized(10_000, [failed])).toEqual({ fits: false, cut: [] });
});
