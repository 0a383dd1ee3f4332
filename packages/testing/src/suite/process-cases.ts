/** Promises of a store that several processes open. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import { update, valueAt } from '@sluice-internal/engine/ports';
import { Chain, ENDED, started, suspended, type Case } from './sample.ts';

const MANY = 10_000;

export const processCases: { readonly [promise: string]: Case } = {
  'a second process: what one commits the other reads, and it is the same store': async (store, { again }) => {
    const other = await again();
    equal(other.id, store.id);
    const [chain] = await started(store, 'w1', 'r1');
    equal((await other.index.find('r1'))?.owner, 'w1');
    await store.journal.commit('w1', [chain.next()]);
    equal((await other.journal.load('r1'))?.appends.at(-1)?.hash, chain.head);
    await other.mail.post('r1', { type: 'cancel', by: 'ann', why: '' });
    deepEqual(
      (await store.mail.take('w1')).map(({ run }) => run),
      ['r1'],
    );
  },

  'a second process: a run has one writer, and a worker that lost its run cannot write': async (store, given) => {
    const other = await given.again();
    const [chain] = await started(store, 'w1', 'r1');
    await other.leases.renew('w2', 10_000);
    deepEqual(await other.leases.claim('w2', { run: 'r1' }), []);
    deepEqual(await other.journal.commit('w2', [{ ...chain.next() }]), ['stale']);
    given.clock.pass(10_000);
    await other.leases.renew('w2', 10_000);
    deepEqual(await other.leases.claim('w2', { run: 'r1' }), ['r1']);
    const late = new Chain('r1');
    late.first();
    const append = late.next();
    deepEqual(await store.journal.commit('w1', [append]), ['stale']);
    equal(await store.leases.renew('w1', 10_000), null);
    deepEqual(await other.journal.commit('w2', [append]), ['committed']);
  },

  'a second process: a run starts once, and a shared value keeps every change': async (store, { again }) => {
    const other = await again();
    await store.leases.renew('w1', 10_000);
    await other.leases.renew('w2', 10_000);
    const [one, two] = await Promise.all([
      store.journal.commit('w1', [new Chain('r1').first()]),
      other.journal.commit('w2', [new Chain('r1').first()]),
    ]);
    deepEqual([...one, ...two].toSorted(), ['committed', 'stale']);
    const add = ({ shared }: typeof store): Promise<unknown> =>
      update(shared, 'count', (value) => [Number(value ?? 0) + 1, null]);
    await Promise.all(Array.from({ length: 20 }, (_, index) => add(index % 2 === 0 ? store : other)));
    equal(await valueAt(store.shared, 'count'), 20);
  },

  '10,000 runs that wait: one is found, answered and claimed, and all are listed': async (store, { again }) => {
    await store.leases.renew('w1', 10_000);
    const chains = Array.from({ length: MANY }, (_, index) => new Chain(`r${index}`));
    for (let from = 0; from < MANY; from += 1000)
      await store.journal.commit(
        'w1',
        chains.slice(from, from + 1000).map((chain) => chain.first(suspended(null))),
      );
    const other = await again();
    await other.leases.renew('w2', 10_000);
    deepEqual(await other.leases.claim('w2', { limit: 10 }), []);
    await store.mail.post('r4321', { type: 'cancel', by: 'ann', why: '' });
    deepEqual(await other.leases.claim('w2', { limit: 10 }), ['r4321']);
    deepEqual(
      (await other.mail.take('w2')).map(({ run }) => run),
      ['r4321'],
    );
    deepEqual(await other.journal.commit('w2', [(chains[4321] as Chain).next({ entry: ENDED })]), ['committed']);
    equal((await store.index.list({ status: ['suspended'], limit: MANY })).items.length, MANY - 1);
    equal((await store.index.list({ status: ['completed'] })).items[0]?.run, 'r4321');
    equal((await store.journal.load('r9999'))?.appends.length, 1);
    notEqual(await store.index.find('r0'), null);
  },
};
