/** A store that lives as long as the object does: for tests, scripts and runs that nobody needs tomorrow. */
import type { Store } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { createJournal } from './journal.ts';
import { createRoster } from './roster.ts';
import type { Tables } from './tables.ts';

export function openMemory(): Store {
  const tables: Tables = { runs: new Map(), flows: new Map(), workers: new Map(), mail: new Map(), mailed: 0 };
  let closed = false;
  const open = (): Tables => {
    if (closed) throw new SluiceError('engine-closed', 'the journal is closed');
    return tables;
  };
  return {
    journal: createJournal(open),
    roster: createRoster(open),
    close: async () => {
      closed = true;
    },
  };
}
