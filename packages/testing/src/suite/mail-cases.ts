/** Promises of the mail for runs. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import type { MailFact } from '@sluice-internal/engine/ports';
import { started, type Case } from './sample.ts';

const YES: MailFact = {
  type: 'answer',
  id: 'a1',
  answer: { choice: 'yes', by: 'ann', edit: { amount: [1, null, 'ä'] } },
};
const STOP: MailFact = { type: 'cancel', by: 'bob', why: 'too slow' };

export const mailCases: { readonly [promise: string]: Case } = {
  'mail reaches the owner in order, until it is done': async (store) => {
    await started(store, 'w1', 'r1', 'r2');
    await started(store, 'w2', 'r3');
    await store.mail.post('r1', YES);
    await store.mail.post('r3', STOP);
    await store.mail.post('r2', STOP);
    const mail = await store.mail.take('w1');
    deepEqual(
      mail.map(({ run, fact }) => [run, fact]),
      [
        ['r1', YES],
        ['r2', STOP],
      ],
    );
    deepEqual(await store.mail.take('w1'), mail);
    deepEqual(
      (await store.mail.take('w1', [mail[0]?.id ?? 0, 12_345])).map(({ run }) => run),
      ['r2'],
    );
    deepEqual(
      (await store.mail.take('w1', [])).map(({ run }) => run),
      ['r2'],
    );
    equal((await store.mail.take('w2')).length, 1);
  },

  'mail waits for the next owner of the run': async (store) => {
    await started(store, 'w1', 'r1');
    await store.leases.release('w1', ['r1']);
    await store.mail.post('r1', YES);
    deepEqual(await store.mail.take('w1'), []);
    await store.leases.renew('w2', 10_000);
    await store.leases.claim('w2', { run: 'r1' });
    deepEqual(
      (await store.mail.take('w2')).map(({ fact }) => fact),
      [YES],
    );
  },

  'the id of a letter is never used again': async (store) => {
    await started(store, 'w1', 'r1');
    await store.mail.post('r1', YES);
    const [first] = await store.mail.take('w1');
    deepEqual(await store.mail.take('w1', [first?.id ?? 0]), []);
    await store.mail.post('r1', YES);
    equal(
      (await store.mail.take('w1')).some(({ id }) => id === first?.id),
      false,
    );
  },

  'mail for a run that does not exist is refused': async (store) => {
    await rejects(store.mail.post('unknown', STOP), { code: 'run-not-found' });
  },
};
