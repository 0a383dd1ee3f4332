/** Promises about leases: a run has one worker at a time, and a worker that lost it cannot write. */
import { deepEqual, equal } from 'node:assert/strict';
import { Chain, ENDED, RUNNING, started, suspended, type Case } from './sample.ts';

export const leaseCases: { readonly [promise: string]: Case } = {
  'a worker without a lease stores nothing and claims nothing': async (store) => {
    deepEqual(await store.journal.commit('w1', [new Chain('r1').first()]), ['stale']);
    equal(await store.index.find('r1'), null);
    await started(store, 'w2', 'r2');
    await store.leases.release('w2', ['r2']);
    deepEqual(await store.leases.claim('w1', { run: 'r2' }), []);
  },

  'a worker cannot write to the run of another': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.leases.renew('w2', 10_000);
    const append = chain.next();
    deepEqual(await store.journal.commit('w2', [append]), ['stale']);
    deepEqual(await store.journal.commit('w1', [append]), ['committed']);
  },

  'a run of a live worker cannot be claimed by another': async (store, { clock }) => {
    await started(store, 'w1', 'r1');
    await store.leases.renew('w2', 10_000);
    clock.pass(9_999);
    deepEqual(await store.leases.claim('w2', { run: 'r1' }), []);
    deepEqual(await store.leases.claim('w2', { limit: 10 }), []);
    deepEqual(await store.leases.claim('w1', { run: 'r1' }), ['r1']);
  },

  'a run of a silent worker is taken over, and that worker is fenced': async (store, { clock }) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    clock.pass(10_000);
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.leases.claim('w2', { run: 'r1' }), ['r1']);
    deepEqual(await store.journal.commit('w1', [one.next(), two.next()]), ['stale', 'stale']);
    equal(await store.leases.renew('w1', 20_000), null);
    deepEqual(await store.leases.claim('w1', { run: 'r2' }), []);
    deepEqual(await store.mail.take('w1'), []);
    // The other run of the fenced worker is free too.
    deepEqual(await store.leases.claim('w2', { limit: 10 }), ['r2']);
    equal((await store.index.find('r2'))?.owner, 'w2');
  },

  'a worker that took over continues where the other stopped': async (store, { clock }) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.journal.commit('w1', [chain.next()]);
    clock.pass(10_000);
    await store.leases.renew('w2', 10_000);
    await store.leases.claim('w2', { run: 'r1' });
    deepEqual(await store.journal.commit('w2', [chain.next()]), ['committed']);
    equal((await store.journal.load('r1'))?.appends.length, 3);
  },

  'a lease that ended can be renewed if no other worker took a run': async (store, { clock }) => {
    const [chain] = await started(store, 'w1', 'r1');
    clock.pass(10_000);
    deepEqual(await store.leases.claim('w1', { run: 'r1' }), []);
    clock.pass(5_000);
    equal(await store.leases.renew('w1', 10_000), 15_000);
    deepEqual(await store.journal.commit('w1', [chain.next()]), ['committed']);
  },

  'a suspended run has no owner, and the append that wakes it claims it': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    await store.journal.commit('w1', [one.next({ entry: suspended(null) }), two.next({ entry: suspended(null) })]);
    equal((await store.index.find('r1'))?.owner, null);
    deepEqual(await store.journal.commit('w1', [one.next({ entry: RUNNING })]), ['committed']);
    equal((await store.index.find('r1'))?.owner, 'w1');
    // Another worker claims the other run first.
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.leases.claim('w2', { run: 'r2' }), ['r2']);
    deepEqual(await store.journal.commit('w1', [two.next({ entry: RUNNING })]), ['stale']);
  },

  'nothing is appended to a run that has ended': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.journal.commit('w1', [chain.next({ entry: ENDED })]);
    deepEqual(await store.journal.commit('w1', [chain.next()]), ['stale']);
  },

  'a released run is free, and its former worker cannot write to it': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', 'r2');
    await store.leases.release('w1', ['r1', 'unknown']);
    equal((await store.index.find('r1'))?.owner, null);
    const append = one.next();
    deepEqual(await store.journal.commit('w1', [append, two.next()]), ['stale', 'committed']);
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.leases.claim('w2', { run: 'r1' }), ['r1']);
    deepEqual(await store.journal.commit('w2', [append]), ['committed']);
  },

  'releasing the run of another does nothing': async (store) => {
    await started(store, 'w1', 'r1');
    await store.leases.renew('w2', 10_000);
    await store.leases.release('w2', ['r1']);
    equal((await store.index.find('r1'))?.owner, 'w1');
  },

  'a commit requested before a release is stored before it': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    const committed = store.journal.commit('w1', [chain.next()]);
    await store.leases.release('w1', ['r1']);
    deepEqual(await committed, ['committed']);
  },

  'a worker that resigns leaves its runs free and may come back': async (store) => {
    const [chain] = await started(store, 'w1', 'r1');
    await store.leases.resign('w1');
    equal((await store.index.find('r1'))?.owner, null);
    deepEqual(await store.journal.commit('w1', [chain.next()]), ['stale']);
    equal(await store.leases.renew('w1', 10_000), 0);
    deepEqual(await store.leases.claim('w1', { limit: 10 }), ['r1']);
  },

  'a claim without a name takes runs that need work, the oldest first, up to the limit': async (store, { clock }) => {
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [
      new Chain('running').first(),
      new Chain('pending').first({ status: 'pending', code: null, due: null }),
      new Chain('asleep').first(suspended(null)),
      new Chain('later').first(suspended(8_000)),
      new Chain('due').first(suspended(5_000)),
      new Chain('mailed').first(suspended(null)),
      new Chain('ended').first(ENDED),
    ]);
    for (const run of ['mailed', 'ended']) await store.mail.post(run, { type: 'cancel', by: 'ann', why: '' });
    await store.leases.resign('w1');
    await store.leases.renew('w2', 10_000);
    clock.pass(5_000);
    deepEqual(await store.leases.claim('w2', { limit: 3 }), ['running', 'pending', 'due']);
    deepEqual(await store.leases.claim('w2', { limit: 3 }), ['mailed', 'ended']);
    deepEqual(await store.leases.claim('w2', { limit: 3 }), []);
    clock.pass(3_000);
    deepEqual(await store.leases.claim('w2', { limit: 3 }), ['later']);
  },

  'a claim without a name leaves out the runs in `except`': async (store) => {
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [new Chain('first').first(), new Chain('second').first()]);
    await store.leases.resign('w1');
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.leases.claim('w2', { limit: 1, except: ['first'] }), ['second']);
    deepEqual(await store.leases.claim('w2', { limit: 1, except: ['first'] }), []);
    deepEqual(await store.leases.claim('w2', { limit: 1, except: [] }), ['first']);
  },

  'a claim by name takes a free run in any state, and none that does not exist': async (store) => {
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [new Chain('asleep').first(suspended(null)), new Chain('ended').first(ENDED)]);
    await store.leases.resign('w1');
    await store.leases.renew('w2', 10_000);
    deepEqual(await store.leases.claim('w2', { run: 'asleep' }), ['asleep']);
    deepEqual(await store.leases.claim('w2', { run: 'ended' }), ['ended']);
    deepEqual(await store.leases.claim('w2', { run: 'unknown' }), []);
  },
};
