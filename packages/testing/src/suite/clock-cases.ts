/** Promises about time: a store measures leases by its own clock, and not by those of its workers. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import type { Store } from '@sluice-internal/engine/ports';
import { started, type Case } from './sample.ts';

const HOUR_MS = 3_600_000;

/** A worker whose clock is ahead or behind takes nothing from one that lives, and loses nothing to it. */
async function twoClocks(store: Store, aheadMs: number): Promise<void> {
  const [chain] = await started(store, 'w1', 'r1');
  const real = Date.now;
  Date.now = () => real() + aheadMs;
  try {
    notEqual(await store.leases.renew('w2', 10_000), null);
    deepEqual(await store.leases.claim('w2', { limit: 10 }), []);
    deepEqual(await store.leases.claim('w2', { run: 'r1' }), []);
  } finally {
    Date.now = real;
  }
  notEqual(await store.leases.renew('w1', 10_000), null);
  deepEqual(await store.leases.claim('w1', { run: 'r1' }), ['r1']);
  deepEqual(await store.journal.commit('w1', [chain.next()]), ['committed']);
  equal((await store.index.find('r1'))?.owner, 'w1');
}

export const clockCases: { readonly [promise: string]: Case } = Object.fromEntries(
  [15_000, -15_000, HOUR_MS, -HOUR_MS].map((ms) => [
    `two clocks: a worker whose clock is ${Math.abs(ms) / 1000} s ${ms > 0 ? 'ahead' : 'behind'} takes no run of a live worker`,
    (store) => twoClocks(store, ms),
  ]),
);
