/** Promises of the roster about entries, mail and the removal of runs. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { linkTombstone } from '@sluice-internal/engine/journal';
import type { MailFact, Store } from '@sluice-internal/engine/ports';
import { Chain, ENDED, RUNNING, started, suspended, type Case } from './sample.ts';

const YES: MailFact = {
  type: 'answer',
  id: 'a1',
  answer: { choice: 'yes', by: 'ann', edit: { amount: [1, null, 'ä'] } },
};
async function retain({ roster }: Store, notation: string, runs: number): Promise<readonly string[]> {
  return roster.remove(await roster.expired({ notation }, { runs }));
}

const STOP: MailFact = { type: 'cancel', by: 'bob', why: 'too slow' };

export const rosterCases: { readonly [promise: string]: Case } = {
  'an entry has the fields of the first append and of the latest change': async (store) => {
    const chain = new Chain('r1', { hash: 'h1', text: 't' });
    await store.roster.renew('w1', 0, 10_000);
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
    deepEqual(await store.roster.find('r1'), { ...begun, status: 'running', updatedAt: 7, due: null });
    await store.journal.commit('w1', [chain.next({ at: 8 })]);
    equal((await store.roster.find('r1'))?.updatedAt, 7);
    await store.journal.commit('w1', [chain.next({ at: 9, entry: suspended(99) })]);
    deepEqual(await store.roster.find('r1'), {
      ...begun,
      owner: null,
      status: 'suspended',
      code: 'CONFIRM_REQUIRED',
      updatedAt: 9,
      due: 99,
    });
    await store.journal.commit('w1', [chain.next({ at: 10, entry: ENDED })]);
    deepEqual(await store.roster.find('r1'), {
      ...begun,
      status: 'completed',
      code: 'SUCCESS',
      updatedAt: 10,
      due: null,
      owner: null,
    });
    equal(await store.roster.find('unknown'), null);
  },

  'a list has the latest first, and can be narrowed': async (store) => {
    await store.roster.renew('w1', 0, 10_000);
    await store.journal.commit('w1', [
      new Chain('r1').first(ENDED),
      new Chain('r2').first(),
      new Chain('r3').first(suspended(null)),
      new Chain('r4').first(),
    ]);
    const runs = async (filter?: Parameters<Store['roster']['list']>[0]): Promise<string[]> =>
      (await store.roster.list(filter)).map(({ run }) => run);
    deepEqual(await runs(), ['r4', 'r3', 'r2', 'r1']);
    deepEqual(await runs({ status: ['running'] }), ['r4', 'r2']);
    deepEqual(await runs({ status: ['completed', 'suspended'] }), ['r3', 'r1']);
    deepEqual(await runs({ status: [] }), []);
    deepEqual(await runs({ limit: 2 }), ['r4', 'r3']);
    deepEqual(await runs({ status: ['running'], limit: 1 }), ['r4']);
    deepEqual((await store.roster.list({ limit: 1 }))[0], await store.roster.find('r4'));
  },

  'mail reaches the owner in order, until it is deleted': async (store) => {
    await started(store, 'w1', 'r1', 'r2');
    await started(store, 'w2', 'r3');
    await store.roster.post('r1', YES);
    await store.roster.post('r3', STOP);
    await store.roster.post('r2', STOP);
    const mail = await store.roster.mail('w1');
    deepEqual(
      mail.map(({ run, fact }) => [run, fact]),
      [
        ['r1', YES],
        ['r2', STOP],
      ],
    );
    deepEqual(await store.roster.mail('w1'), mail);
    await store.roster.deleteMail([mail[0]?.id ?? 0, 12_345]);
    deepEqual(
      (await store.roster.mail('w1')).map(({ run }) => run),
      ['r2'],
    );
    await store.roster.deleteMail([]);
    equal((await store.roster.mail('w2')).length, 1);
  },

  'mail waits for the next owner of the run': async (store) => {
    await started(store, 'w1', 'r1');
    await store.roster.release('w1', ['r1']);
    await store.roster.post('r1', YES);
    deepEqual(await store.roster.mail('w1'), []);
    await store.roster.renew('w2', 0, 10_000);
    await store.roster.claim('w2', 1, { run: 'r1' });
    deepEqual(
      (await store.roster.mail('w2')).map(({ fact }) => fact),
      [YES],
    );
  },

  'the id of a piece of mail is never used again': async (store) => {
    await started(store, 'w1', 'r1');
    await store.roster.post('r1', YES);
    const [first] = await store.roster.mail('w1');
    await store.roster.deleteMail([first?.id ?? 0]);
    await store.roster.post('r1', YES);
    equal(
      (await store.roster.mail('w1')).some(({ id }) => id === first?.id),
      false,
    );
  },

  'mail for a run that does not exist is refused': async (store) => {
    await rejects(store.roster.post('unknown', STOP), { code: 'run-not-found' });
  },

  'the oldest ended runs of a notation are removed, by start, and no other': async (store) => {
    await store.roster.renew('w1', 0, 10_000);
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
    await store.roster.post('old', STOP);
    deepEqual(await retain(store, 'graph', 6), []);
    deepEqual(await retain(store, 'graph', 4), ['old', 'mid']);
    equal(await store.journal.load('old'), null);
    equal(await store.roster.find('mid'), null);
    deepEqual(
      (await store.roster.list()).map(({ run }) => run),
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
    const { list, head } = await store.roster.tombstones();
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
    await rejects(store.roster.list(), { code: 'engine-closed' });
    await store.close();
  },
};
