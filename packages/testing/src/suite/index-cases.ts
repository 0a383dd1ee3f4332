/** Promises of the index about entries and the removal of runs. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { linkTombstone } from '@sluice-internal/engine/journal';
import type { Store } from '@sluice-internal/engine/ports';
import { Chain, ENDED, RUNNING, started, suspended, type Case } from './sample.ts';

async function retain({ index }: Store, notation: string, runs: number): Promise<readonly string[]> {
  return index.remove(await index.expired({ notation }, { runs }));
}

export const indexCases: { readonly [promise: string]: Case } = {
  'an entry has the fields of the first append and of the latest change': async (store) => {
    const chain = new Chain('r1', { hash: 'h1', text: 't' });
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [chain.first(RUNNING, { flow: 'refund', notation: 'steps', startedAt: 7 })]);
    const whose = { tenant: null, user: null, parent: null };
    const begun = {
      run: 'r1',
      flow: 'refund',
      hash: 'h1',
      notation: 'steps',
      code: null,
      startedAt: 7,
      owner: 'w1',
      ...whose,
    };
    deepEqual(await store.index.find('r1'), { ...begun, status: 'running', updatedAt: 7, due: null });
    await store.journal.commit('w1', [chain.next({ at: 8 })]);
    equal((await store.index.find('r1'))?.updatedAt, 7);
    await store.journal.commit('w1', [chain.next({ at: 9, entry: suspended(99) })]);
    deepEqual(await store.index.find('r1'), {
      ...begun,
      owner: null,
      status: 'suspended',
      code: 'CONFIRM_REQUIRED',
      updatedAt: 9,
      due: 99,
    });
    await store.journal.commit('w1', [chain.next({ at: 10, entry: ENDED })]);
    deepEqual(await store.index.find('r1'), {
      ...begun,
      status: 'completed',
      code: 'SUCCESS',
      updatedAt: 10,
      due: null,
      owner: null,
    });
    equal(await store.index.find('unknown'), null);
  },

  'a list has the latest first, and can be narrowed': async (store) => {
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [
      new Chain('r1').first(ENDED),
      new Chain('r2').first(),
      new Chain('r3').first(suspended(null)),
      new Chain('r4').first(),
    ]);
    const runs = async (filter?: Parameters<Store['index']['list']>[0]): Promise<string[]> =>
      (await store.index.list(filter)).map(({ run }) => run);
    deepEqual(await runs(), ['r4', 'r3', 'r2', 'r1']);
    deepEqual(await runs({ status: ['running'] }), ['r4', 'r2']);
    deepEqual(await runs({ status: ['completed', 'suspended'] }), ['r3', 'r1']);
    deepEqual(await runs({ status: [] }), []);
    deepEqual(await runs({ limit: 2 }), ['r4', 'r3']);
    deepEqual(await runs({ status: ['running'], limit: 1 }), ['r4']);
    deepEqual((await store.index.list({ limit: 1 }))[0], await store.index.find('r4'));
  },

  'the oldest ended runs of a notation are removed, by start, and no other': async (store) => {
    await store.leases.renew('w1', 10_000);
    const graph = (run: string, startedAt: number, entry = ENDED) => new Chain(run).first(entry, { startedAt });
    const steps = new Chain('steps').first(ENDED, { notation: 'steps', startedAt: 0 });
    const blob = { hash: 'b1', body: 'one' };
    await store.journal.commit('w1', [
      graph('new', 40),
      { ...graph('old', 10), blobs: [blob] },
      graph('mid', 20),
      graph('lives', 5, RUNNING),
      graph('waits', 6, suspended(null)),
      graph('newer', 50, { ...ENDED, status: 'failed' }),
      steps,
    ]);
    await store.mail.post('old', { type: 'cancel', by: 'bob', why: 'too slow' });
    deepEqual(await retain(store, 'graph', 6), []);
    deepEqual(await retain(store, 'graph', 4), ['old', 'mid']);
    equal(await store.journal.load('old'), null);
    equal(await store.index.find('mid'), null);
    deepEqual(
      (await store.index.list()).map(({ run }) => run),
      ['steps', 'newer', 'waits', 'lives', 'new'],
    );
    // Live runs count, but they are never removed.
    deepEqual(await retain(store, 'graph', 1), ['new', 'newer']);
    equal((await store.journal.load('lives'))?.flow, '{"id":"demo"}');
    equal((await store.journal.load('steps'))?.appends.length, 1);
  },

  'a removed run leaves a tombstone, and its id cannot be used again': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    await store.journal.commit('w1', [one.next({ entry: ENDED, blobs: [{ hash: 'b1', body: 'one' }] })]);
    deepEqual(await retain(store, 'graph', 1), ['r1']);
    deepEqual(await store.journal.commit('w1', [new Chain('r1', { hash: 'h2', text: 'two' }).first()]), ['stale']);
    equal(await store.journal.load('r1'), null);
    await store.journal.commit('w1', [two.next({ entry: ENDED })]);
    deepEqual(await retain(store, 'graph', 0), ['r2']);
    const { list, head } = await store.index.tombstones();
    deepEqual(
      list.map(({ run, events, hash }) => ({ run, events, hash })),
      [one, two].map(({ run, seq, head: hash }) => ({ run, events: seq, hash })),
    );
    equal(list[1]?.link, head);
    equal(linkTombstone(list[0]?.link ?? '', list[1]), head);
  },

  'after it is closed a store refuses everything, and closing again is fine': async (store) => {
    await started(store, 'w1', 'r1');
    await store.close();
    await rejects(store.journal.load('r1'), { code: 'engine-closed' });
    await rejects(store.journal.commit('w1', [new Chain('r2').first()]), { code: 'engine-closed' });
    await rejects(store.index.list(), { code: 'engine-closed' });
    await store.close();
  },
};
