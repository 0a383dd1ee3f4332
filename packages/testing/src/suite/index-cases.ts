/** Promises of the index about entries and the removal of runs. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { linkTombstone } from '@sluice-internal/engine/journal';
import { allOf } from '@sluice-internal/engine/ports';
import type { RunDetails, RunFilter, Store } from '@sluice-internal/engine/ports';
import { Chain, ENDED, RUNNING, started, suspended, type Case } from './sample.ts';

async function retain({ index }: Store, notation: string, runs: number): Promise<readonly string[]> {
  return index.remove(await index.expired({ notation }, { runs }));
}

export const indexCases: { readonly [promise: string]: Case } = {
  'an entry has the fields of the first append and of the latest change': async (store) => {
    const chain = new Chain('r1', { hash: 'h1', text: 't' });
    await store.leases.renew('w1', 10_000);
    await store.journal.commit('w1', [chain.first(RUNNING, { flow: 'refund', notation: 'steps', startedAt: 7 })]);
    const whose = { tenant: null, user: null, thread: null, parent: null };
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
      (await store.index.list(filter)).items.map(({ run }) => run);
    deepEqual(await runs(), ['r4', 'r3', 'r2', 'r1']);
    deepEqual(await runs({ status: ['running'] }), ['r4', 'r2']);
    deepEqual(await runs({ status: ['completed', 'suspended'] }), ['r3', 'r1']);
    deepEqual(await runs({ status: [] }), []);
    deepEqual(await runs({ limit: 2 }), ['r4', 'r3']);
    deepEqual(await runs({ status: ['running'], limit: 1 }), ['r4']);
    deepEqual((await store.index.list({ limit: 1 })).items[0], {
      ...(await store.index.find('r4')),
      facts: null,
    });
  },

  'a list is read in pages: none twice and none left out, also while runs start': async (store) => {
    await store.leases.renew('w1', 10_000);
    const chains = Array.from({ length: 25 }, (_, at) => new Chain(`r${at}`));
    await store.journal.commit(
      'w1',
      chains.map((chain) => chain.first()),
    );
    const first = await store.index.list({ limit: 10 });
    await store.journal.commit('w1', [new Chain('late').first()]);
    const second = await store.index.list({ limit: 10, cursor: first.next ?? '' });
    const third = await store.index.list({ limit: 10, cursor: second.next ?? '' });
    const read = [first, second, third].flatMap(({ items }) => items.map(({ run }) => run));
    deepEqual(read, chains.map(({ run }) => run).reverse());
    equal(third.next, null);
    deepEqual((await store.index.list({ limit: 26 })).next, null);
    for (const cursor of ['', 'x', '1.2', '-1', '1.5e3'])
      await rejects(store.index.list({ cursor }), { code: 'bad-cursor' });
    for (const limit of [0, -1, 1.5]) await rejects(store.index.list({ limit }), { code: 'bad-cursor' });
  },

  'a list has the runs for which every field of the filter holds': async (store) => {
    await store.leases.renew('w1', 10_000);
    const run = (id: string, startedAt: number, whose: Parameters<Chain['first']>[1], entry = RUNNING) =>
      new Chain(id).first(entry, { ...whose, startedAt });
    await store.journal.commit('w1', [
      run('a1', 1, { flow: 'refund', tenant: 'acme', user: 'ann' }),
      run('a2', 2, { flow: 'refund', tenant: 'acme', user: 'bob', thread: 't1' }, ENDED),
      run('b1', 3, { flow: 'order', tenant: 'beta', user: 'ann', parent: 'a1' }, suspended(50)),
      run('n1', 4, { flow: 'order' }, { ...ENDED, status: 'failed', code: 'TIMEOUT' }),
    ]);
    const of = async (filter: RunFilter): Promise<string> =>
      (await allOf((page) => store.index.list({ ...filter, ...page, limit: 1 }))).map(({ run: id }) => id).join(' ');
    equal(await of({ flow: 'order' }), 'n1 b1');
    equal(await of({ tenant: 'acme' }), 'a2 a1');
    equal(await of({ user: 'ann' }), 'b1 a1');
    equal(await of({ user: 'ann', tenant: 'acme' }), 'a1');
    equal(await of({ code: 'TIMEOUT' }), 'n1');
    equal(await of({ thread: 't1' }), 'a2');
    equal(await of({ parent: 'a1' }), 'b1');
    equal(await of({ since: 2, until: 4 }), 'b1 a2');
    equal(await of({ prefix: 'a' }), 'a2 a1');
    equal(await of({ prefix: 'a%' }), '');
    equal(await of({ due: 49 }), '');
    equal(await of({ due: 50 }), 'b1');
    equal(await of({ changedSince: 3 }), 'n1 b1');
    equal(await of({ changedSince: 2, changedUntil: 3 }), 'b1 a2');
    equal(await of({ status: ['failed', 'suspended'], changedUntil: 3 }), 'b1');
    equal(await of({ tenant: null }), 'n1');
    equal(await of({ status: ['running', 'failed', 'suspended'], flow: 'order' }), 'n1 b1');
    deepEqual((await store.index.tenants({ limit: 1 })).items, ['acme']);
    deepEqual(await allOf((page) => store.index.tenants({ ...page, limit: 1 })), ['acme', 'beta']);
    deepEqual(await store.index.waiting({ except: 'a1' }), { count: 1, since: 3 });
    deepEqual(await store.index.waiting({ except: 'b1' }), { count: 0, since: null });
    deepEqual(await store.index.waiting({ except: 'a1', tenant: 'acme' }), { count: 0, since: null });
  },

  'facts and open questions are stored with the append that changes them': async (store) => {
    const [one, two] = await started(store, 'w1', 'r1', new Chain('r2'));
    const facts: RunDetails['facts'] = {
      ...{ seq: 2, steps: 3, inputTokens: 10, outputTokens: 4, costUsd: 0.000_25 },
      ...{ questions: 2, node: 'gate', error: null },
    };
    const asked = (id: string, askedAt: number) => ({ id, node: 'gate', askedAt, expiresAt: 99 });
    const details = { facts, questions: [asked('q1', 10), asked('q2', 10)] };
    await store.journal.commit('w1', [
      one.next({ entry: suspended(99), details }),
      two.next({ entry: suspended(null), details: { facts, questions: [asked('q3', 11)] } }),
    ]);
    const questions = (filter: Parameters<Store['index']['questions']>[0] = {}) =>
      allOf((page) => store.index.questions({ ...filter, ...page, limit: 1 }));
    deepEqual(await questions(), [
      { ...asked('q3', 11), run: 'r2' },
      { ...asked('q1', 10), run: 'r1' },
      { ...asked('q2', 10), run: 'r1' },
    ]);
    deepEqual(
      (await questions({ run: 'r1' })).map(({ id }) => id),
      ['q1', 'q2'],
    );
    deepEqual(await questions({ tenant: 'acme' }), []);
    deepEqual(
      (await store.index.list()).items.map((run) => run.facts),
      [facts, facts],
    );
    equal(await store.index.describe('r1', details), false);
    const failed = { ...facts, seq: 3, questions: 0, error: { type: 'TimeoutError', message: 'too slow' } };
    await store.journal.commit('w1', [one.next({ entry: ENDED, details: { facts: failed, questions: [] } })]);
    deepEqual(
      (await questions()).map(({ id }) => id),
      ['q3'],
    );
    deepEqual((await store.index.list({ code: 'SUCCESS' })).items[0]?.facts, failed);
    equal(await store.index.describe('r2', { facts, questions: [] }), true);
    deepEqual(await questions(), []);
    deepEqual(await retain(store, 'graph', 1), ['r1']);
  },

  'a thread has at most one open run of a tenant': async (store) => {
    await store.leases.renew('w1', 10_000);
    const begin = (id: string, whose: Parameters<Chain['first']>[1], entry = RUNNING) =>
      store.journal.commit('w1', [new Chain(id).first(entry, whose)]);
    const open = new Chain('r1');
    deepEqual(await store.journal.commit('w1', [open.first(RUNNING, { thread: 't', tenant: 'acme' })]), ['committed']);
    deepEqual(await begin('r2', { thread: 't', tenant: 'acme' }), ['stale']);
    deepEqual(await begin('r3', { thread: 't', tenant: 'beta' }), ['committed']);
    deepEqual(await begin('r4', { thread: 't' }), ['committed']);
    await store.journal.commit('w1', [open.next({ entry: suspended(null) })]);
    deepEqual(await begin('r5', { thread: 't', tenant: 'acme' }), ['stale']);
    await store.journal.commit('w1', [open.next({ entry: ENDED })]);
    deepEqual(await begin('r6', { thread: 't', tenant: 'acme' }), ['committed']);
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
      (await store.index.list()).items.map(({ run }) => run),
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
    const { items: list, head } = await store.index.tombstones();
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
