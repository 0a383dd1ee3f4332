/** A store in one SQLite file. Several processes may open the same file; the leases keep them out of each other's runs. */
import type { Store } from '../../runtime/ports.ts';
import { connect } from './connect.ts';
import { createConnection } from './connection.ts';
import { createEntries } from './entries.ts';
import { createJournal } from './journal.ts';
import { createLeases } from './leases.ts';
import { createMail } from './mail.ts';
import { createRetain } from './retain.ts';

export interface SqliteOptions {
  /** How long to wait while another process writes. Default 5 s. */
  readonly busyMs?: number;
}

export function openSqlite(path: string, options: SqliteOptions = {}): Store {
  const connection = createConnection(connect(path, options.busyMs ?? 5000), path);
  const journal = createJournal(connection);
  return {
    journal,
    roster: {
      ...createLeases(connection, journal.flush),
      ...createMail(connection),
      ...createEntries(connection),
      ...createRetain(connection),
    },
    close: async () => {
      journal.flush();
      connection.close();
    },
  };
}
