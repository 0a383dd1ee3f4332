/** Quotas, breakers and the retry budget change by named operations, whose name, arguments and result are plain data. */
import { expect, test } from 'vitest';
import { OPERATIONS, operationsOn } from '../../src/limits/operations.ts';
import type { Operate } from '../../src/limits/operations.ts';
import { openMemory } from '@sluice-internal/engine/memory';
import { valueAt } from '@sluice-internal/engine/ports';
import type { BreakerRules } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';

/** A host that has the values on another machine: only text passes. */
function remote(): { readonly operate: Operate; readonly values: Map<string, string> } {
  const values = new Map<string, string>();
  const operate = async (key: string, name: keyof typeof OPERATIONS, given: object): Promise<unknown> => {
    const before = JSON.parse(values.get(key) ?? 'null') as Json;
    const change = OPERATIONS[name] as (value: Json, given: unknown) => readonly [Json, unknown];
    const [value, result] = change(before, JSON.parse(JSON.stringify(given)));
    values.set(key, JSON.stringify(value));
    return JSON.parse(JSON.stringify(result));
  };
  return { operate: operate as Operate, values };
}

const RULES: BreakerRules = {
  ...{ providerErrors: 2, schemaFailures: 2, identicalCalls: 3 },
  ...{ cooldownMs: 1000, maxTrips: 3, fallback: null, rate: null },
};
const REQUEST = { run: 'r1', starts: true, worst: { tokens: 60, costMicros: 0 }, spent: { tokens: 0, costMicros: 0 } };

async function play(operate: Operate): Promise<readonly unknown[]> {
  const quota = { tokens: 100 };
  const trip = { rules: RULES, outcome: 'provider_error' } as const;
  return [
    await operate('quota', 'quota.take', { quota, request: REQUEST, at: 0 }),
    await operate('quota', 'quota.take', { quota, request: { ...REQUEST, run: 'r2' }, at: 1 }),
    await operate('quota', 'quota.give', { run: 'r1', spent: { tokens: 10, costMicros: 0 }, per: 'day', at: 2 }),
    await operate('quota', 'quota.take', { quota, request: { ...REQUEST, run: 'r2' }, at: 3 }),
    await operate('retries', 'retries.take', { rules: { share: 0.5, burst: 1 }, calls: 1, at: 0 }),
    await operate('retries', 'retries.take', { rules: { share: 0.5, burst: 1 }, calls: 1, at: 1 }),
    await operate('breaker', 'breaker.trip', { ...trip, call: 'a', at: 0 }),
    await operate('breaker', 'breaker.trip', { ...trip, call: 'b', at: 1 }),
    await operate('breaker', 'breaker.probe', { call: 'c', at: 2 }),
    await operate('breaker', 'breaker.probe', { call: 'c', at: 1500 }),
    await operate('breaker', 'breaker.probe', { call: 'd', at: 1501 }),
    await operate('breaker', 'breaker.trip', { rules: RULES, outcome: 'ok', call: 'c', at: 1600 }),
  ];
}

test('they do the same beside the data as over swaps', async () => {
  const { shared } = openMemory();
  const { operate, values } = remote();
  const here = await play(operationsOn(shared));
  expect(JSON.parse(JSON.stringify(here))).toEqual(await play(operate));
  for (const [key, text] of values) expect(await valueAt(shared, key)).toEqual(JSON.parse(text));
});

test('a quota is taken and given back, a retry takes a token, a breaker trips and is probed', async () => {
  const results = await play(operationsOn(openMemory().shared));
  expect(results).toMatchObject([
    { isNew: true, excess: [] },
    { isNew: false, excess: [{ limit: 'tokens', taken: 60, asked: 60 }] },
    null,
    { isNew: true, excess: [] },
    { granted: true },
    { granted: false },
    null,
    { to: 'open', cause: 'provider_errors' },
    { allowed: false },
    { allowed: true, change: { to: 'half_open' } },
    { allowed: false },
    { to: 'closed', cause: 'probe_succeeded' },
  ]);
});
