/** Promises of a store that cannot be reached for a while. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { valueAt } from '@sluice-internal/engine/ports';
import { started, type Case } from './sample.ts';

/** The codes by which a worker knows that it has to wait. */
const AWAY = /^(journal-busy|journal-unavailable)$/;

export const awayCases: { readonly [promise: string]: Case } = {
  'a lost connection: work is refused with a code that says so, and goes on when the store is back': async (
    store,
    { cut },
  ) => {
    const [chain] = await started(store, 'w1', 'r1');
    const append = chain.next();
    const mend = cut();
    await rejects(store.journal.commit('w1', [append]), { code: AWAY });
    await rejects(store.leases.renew('w1', 10_000), { code: AWAY });
    await rejects(store.shared.swap('key', '', 1), { code: AWAY });
    mend();
    deepEqual(await store.journal.page('r1', append.after, 1), []);
    deepEqual(await store.journal.commit('w1', [append]), ['committed']);
    equal(await valueAt(store.shared, 'key'), null);
    equal((await store.index.find('r1'))?.owner, 'w1');
  },
};
