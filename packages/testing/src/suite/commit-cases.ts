/** Promises of `commit`: an append is stored whole or not at all, by one writer, once, and without gaps. */
import { deepEqual, equal } from 'node:assert/strict';
import { Chain, ENDED, started, type Case } from './sample.ts';

export const commitCases: { readonly [promise: string]: Case } = {
  'a first append creates the run and makes its worker the owner': async (store) => {
    const chain = new Chain('r1');
    await store.leases.renew('w1', 10_000);
    deepEqual(await store.journal.commit('w1', [chain.first()]), ['committed']);
    equal((await store.index.find('r1'))?.owner, 'w1');
  },

  'several appends of one run in one commit follow each other': async (store) => {
    const chain = new Chain('r1');
    await store.leases.renew('w1', 10_000);
    const appends = [chain.first(), chain.next({ count: 3 }), chain.next()];
    deepEqual(await store.journal.commit('w1', appends), ['committed', 'committed', 'committed']);
    deepEqual(
      (await store.journal.load('r1'))?.appends.map(({ after, count }) => [after, count]),
      [
        [0, 1],
        [1, 3],
        [4, 1],
      ],
    );
  },

  'an empty commit returns an empty list': async (store) => {
    deepEqual(await store.journal.commit('w1', []), []);
  },

  'the same append again is stale and changes nothing': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    const append = chain.next({ blobs: [{ hash: 'b1', body: 'one' }] });
    deepEqual(await store.journal.commit('w1', [append, append]), ['committed', 'stale']);
    deepEqual(await store.journal.commit('w1', [append]), ['stale']);
    const stored = await store.journal.load('r1');
    equal(stored?.appends.length, 2);
    equal(stored?.blobs.length, 1);
  },

  'an unknown commit: whether an append was stored can be read by its position and its hash': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    const [stored, lost] = [one.next({ count: 3 }), two.next()];
    await store.journal.commit('w1', [stored]);
    equal((await store.journal.page('r1', stored.after, 1))[0]?.hash, stored.hash);
    deepEqual(await store.journal.page('r2', lost.after, 1), []);
    deepEqual(await store.journal.commit('w1', [stored, lost]), ['stale', 'committed']);
    equal((await store.journal.load('r1'))?.appends.length, 2);
  },

  'an append that leaves a gap is stale, with its blobs and its entry': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    chain.next();
    const gap = chain.next({
      blobs: [{ hash: 'b1', body: 'one' }],
      entry: ENDED,
      snapshot: { seq: chain.seq, hash: chain.head, body: 's' },
    });
    deepEqual(await store.journal.commit('w1', [gap]), ['stale']);
    const stored = await store.journal.load('r1');
    deepEqual([stored?.appends.length, stored?.blobs.length, stored?.snapshot], [1, 0, null]);
    equal((await store.index.find('r1'))?.status, 'running');
  },

  'an append that starts in the middle of a stored one is stale': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.journal.commit('w1', [chain.next({ count: 5 })]);
    deepEqual(await store.journal.commit('w1', [{ ...chain.next(), after: 3 }]), ['stale']);
  },

  'a second start of the same run is stale': async (store) => {
    await started(store, 'w1', 'r1');
    deepEqual(await store.journal.commit('w1', [new Chain('r1').first()]), ['stale']);
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.journal.commit('w2', [new Chain('r1').first()]), ['stale']);
    equal((await store.index.find('r1'))?.owner, 'w1');
  },

  'an append to a run that does not exist is stale': async (store) => {
    await store.leases.renew('w1', 10_000);
    const chain = new Chain('r1');
    chain.first();
    deepEqual(await store.journal.commit('w1', [chain.next(), new Chain('r2').next()]), ['stale', 'stale']);
    equal(await store.journal.load('r1'), null);
    equal(await store.index.find('r2'), null);
  },

  'a stale append does not affect the others of the commit': async (store) => {
    const [one, two, three] = await started(store, 'w1', 'r1', 'r2', 'r3');
    two.next();
    deepEqual(await store.journal.commit('w1', [one.next(), two.next(), three.next()]), [
      'committed',
      'stale',
      'committed',
    ]);
  },

  'commits requested together are all stored, in order': async (store) => {
    const [chain, other] = await started(store, 'w1', 'r1', 'r2');
    const asked = [chain.next(), other.next(), chain.next(), chain.next()].map((append) =>
      store.journal.commit('w1', [append]),
    );
    deepEqual((await Promise.all(asked)).flat(), ['committed', 'committed', 'committed', 'committed']);
    deepEqual(
      (await store.journal.load('r1'))?.appends.map(({ after }) => after),
      [0, 1, 2, 3],
    );
  },

  'an error in one call does not fail the others': async (store) => {
    const [one, two] = [new Chain('r1'), new Chain('r2')];
    await started(store, 'w1', one);
    const bad = store.journal.commit('w1', [{ ...two.first(), flow: null }]);
    const good = store.journal.commit('w1', [one.next()]);
    const [refused, stored] = await Promise.allSettled([bad, good]);
    equal(refused.status, 'rejected');
    deepEqual(stored, { status: 'fulfilled', value: ['committed'] });
  },

  'a thousand appends of a thousand runs, and a thousand of one': async (store) => {
    await store.leases.renew('w1', 10_000);
    const chains = Array.from({ length: 1000 }, (_, index) => new Chain(`r${index}`));
    const starts = await store.journal.commit(
      'w1',
      chains.map((chain) => chain.first()),
    );
    equal(starts.filter((each) => each === 'committed').length, 1000);
    const long = chains[500] as Chain;
    const steps = await store.journal.commit(
      'w1',
      Array.from({ length: 1000 }, () => long.next()),
    );
    equal(steps.filter((each) => each === 'committed').length, 1000);
    const stored = await store.journal.load(long.run);
    equal(stored?.appends.length, 1001);
    equal(stored?.appends.at(-1)?.hash, long.head);
  },

  'an ended run has no owner and takes no append': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    deepEqual(await store.journal.commit('w1', [chain.next({ entry: ENDED }), chain.next()]), ['committed', 'stale']);
    equal((await store.index.find('r1'))?.owner, null);
  },
};
