/** Promises of `load`: the committed bytes in order, the blobs they refer to, and the latest snapshot. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { genesis, link } from '@sluice-internal/engine/journal';
import { Chain, ENDED, RUNNING, started, type Case } from './sample.ts';

export const loadCases: { readonly [promise: string]: Case } = {
  'a run that was never started is null': async (store) => {
    equal(await store.journal.load('unknown'), null);
  },

  'load returns the committed bytes': async (store) => {
    const chain = new Chain('r1', { hash: 'h1', text: '{"id":"ä\\u0000"}' });
    await store.leases.renew('w1', 10_000);
    const appends = [
      chain.first(),
      chain.next({ body: '["\u{1f30a} a \u2028 line","\\u0000",""]', at: 1_763_000_000_123 }),
      chain.next({ body: '', count: 2 }),
    ];
    await store.journal.commit('w1', appends);
    const stored = await store.journal.load('r1');
    equal(stored?.flow, chain.flow.text);
    deepEqual(
      stored?.appends,
      appends.map(({ after, count, at, body, hash }) => ({ after, count, at, body, hash })),
    );
  },

  'the hash chain of a loaded run is valid': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.journal.commit('w1', [chain.next({ count: 2 }), chain.next()]);
    let head = genesis('r1', chain.flow.hash);
    for (const { after, at, body, hash } of (await store.journal.load('r1'))?.appends ?? []) {
      head = link(head, after, at, body);
      equal(hash, head);
    }
    equal(head, chain.head);
  },

  'runs do not see each other': async (store) => {
    const [one, two] = [new Chain('r1'), new Chain('r2', { hash: 'h2', text: 'two' })];
    await started(store, 'w1', one, two);
    await store.journal.commit('w1', [one.next({ blobs: [{ hash: 'b1', body: 'one' }] }), two.next(), one.next()]);
    const stored = await store.journal.load('r2');
    deepEqual([stored?.flow, stored?.appends.length, stored?.blobs], ['two', 2, []]);
  },

  'a flow is stored once and read by all its runs': async (store) => {
    await started(store, 'w1', 'r1', 'r2');
    equal((await store.journal.load('r1'))?.flow, (await store.journal.load('r2'))?.flow);
  },

  'a blob is kept once per run and hash, in the order of arrival': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    const [b, a] = [
      { hash: 'b', body: 'x'.repeat(100_000) },
      { hash: 'a', body: 'small' },
    ];
    await store.journal.commit('w1', [one.next({ blobs: [b, a] }), two.next({ blobs: [a] })]);
    deepEqual(await store.journal.commit('w1', [one.next({ blobs: [a] })]), ['committed']);
    deepEqual((await store.journal.load('r1'))?.blobs, [b, a]);
    deepEqual((await store.journal.load('r2'))?.blobs, [a]);
  },

  'the latest snapshot is loaded with what came after it': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    for (const body of ['s1', 's2']) {
      const append = chain.next({ count: 2 });
      await store.journal.commit('w1', [{ ...append, snapshot: { seq: chain.seq, hash: chain.head, body } }]);
    }
    const [seq, hash] = [chain.seq, chain.head];
    const last = chain.next();
    await store.journal.commit('w1', [last]);
    const stored = await store.journal.load('r1');
    deepEqual(stored?.snapshot, { seq, hash, body: 's2' });
    deepEqual(
      stored?.appends.map(({ after }) => after),
      [last.after],
    );
  },

  'without a snapshot everything is loaded': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    const append = chain.next({ blobs: [{ hash: 'b1', body: 'one' }] });
    await store.journal.commit('w1', [{ ...append, snapshot: { seq: chain.seq, hash: chain.head, body: 's' } }]);
    const stored = await store.journal.load('r1', { snapshot: false });
    equal(stored?.snapshot, null);
    deepEqual(
      stored?.appends.map(({ after }) => after),
      [0, 1],
    );
    equal(stored?.blobs.length, 1);
    deepEqual((await store.journal.load('r1'))?.appends, []);
  },

  'a page has the appends from an event on, up to the limit': async (store) => {
    const [chain] = await started(store, 'w1', 'r1', 'r2');
    await store.journal.commit('w1', [chain.next(), chain.next(), chain.next()]);
    const all = (await store.journal.load('r1', { snapshot: false }))?.appends ?? [];
    deepEqual(await store.journal.page('r1', 0, 2), all.slice(0, 2));
    deepEqual(await store.journal.page('r1', all[2]?.after ?? 0, 10), all.slice(2));
    deepEqual(await store.journal.page('unknown', 0, 10), []);
  },

  'changes are those of all runs in the order in which they were stored, and a cursor stays valid when runs are removed':
    async ({ journal, index, leases }) => {
      await leases.renew('w1', 10_000);
      equal((await journal.changes('', 10)).next, '');
      const [one, two] = [new Chain('r1'), new Chain('r2')];
      await journal.commit('w1', [one.first(), two.first(ENDED, { tenant: 'acme' })]);
      await journal.commit('w1', [one.next({ count: 2 })]);
      const { items, next } = await journal.changes('', 10);
      deepEqual(
        items.map(({ run, seq, status, code, tenant }) => [run, seq, status, code, tenant]),
        [
          ['r1', 1, 'running', null, null],
          ['r2', 1, 'completed', 'SUCCESS', 'acme'],
          ['r1', 3, 'running', null, null],
        ],
      );
      equal(next, items[2]?.cursor);
      deepEqual(await journal.changes(null, 10), { items: [], next });
      deepEqual((await journal.changes('', 2)).items, items.slice(0, 2));
      deepEqual((await journal.changes('', 2)).next, items[1]?.cursor);
      deepEqual((await journal.changes(items[0]?.cursor ?? '', 10)).items, items.slice(1));
      deepEqual(await journal.changes(next, 10), { items: [], next });
      const three = new Chain('r3');
      await journal.commit('w1', [one.next({ entry: RUNNING }), three.first(ENDED)]);
      const last = (await journal.changes(next, 10)).next;
      deepEqual(await index.remove(['r2', 'r3']), ['r2', 'r3']);
      deepEqual(
        (await journal.changes('', 10)).items.map(({ run, seq }) => [run, seq]),
        [
          ['r1', 1],
          ['r1', 3],
          ['r1', 4],
        ],
      );
      // The place of a removed run is given to no other.
      await journal.commit('w1', [new Chain('r4').first()]);
      deepEqual(
        (await journal.changes(last, 10)).items.map(({ run }) => run),
        ['r4'],
      );
      for (const bad of ['1', 'c', 'c-1', 'c1x', 'now']) await rejects(journal.changes(bad, 1), { code: 'bad-cursor' });
    },
};
