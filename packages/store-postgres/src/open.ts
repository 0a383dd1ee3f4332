/** A store in one schema of a Postgres database, which workers on several machines share. */
import { SluiceError, codecOfProcess, refuseEmpty } from '@sluice-internal/engine/ports';
import type {
  MemoryStore,
  AttachmentStore,
  OnViolation,
  PiiStore,
  Store,
  StoreClock,
} from '@sluice-internal/engine/ports';
import { readAddress } from './address.ts';
import { createAttachments } from './attachments.ts';
import { Database } from './database.ts';
import { Hints } from './hints.ts';
import { Commits, createJournal } from './journal.ts';
import { Lane } from './lane.ts';
import { createLeases } from './leases.ts';
import { createLists, createRemoved } from './lists.ts';
import { createMail } from './mail.ts';
import { createMemory } from './memory.ts';
import { compactHeads, createRetain } from './retain.ts';
import { createShared } from './shared.ts';
import { createVaultStore } from './vault.ts';

/**
 * How to open a store in Postgres.
 * @example
 * const options: PostgresOptions = { pollMs: 1000, onNotice: (message) => console.warn(message) };
 */
export interface PostgresOptions {
  /** Opens without making the schema. */
  readonly readOnly?: boolean;
  /** Default: the clock of the server. */
  readonly clock?: StoreClock | undefined;
  /** A message for the operator, for example about a server that keeps nothing safe. */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** How often a worker looks for work by itself, in milliseconds. It is told of most work. Default 4000. */
  readonly pollMs?: number;
  /** Called when a memory of another owner was asked for. */
  readonly onViolation?: OnViolation | undefined;
}

/**
 * A store in Postgres keeps everything that a run has.
 * @example
 * const store: PostgresStore = openPostgres('postgres://sluice@db.internal/sluice');
 * await store.ready();
 */
export type PostgresStore = Store & {
  /** Connects, and makes the schema. Rejects with the reason why the store cannot be used. */
  ready(): Promise<void>;
  readonly pii: PiiStore;
  readonly attachments: AttachmentStore;
  readonly memory: MemoryStore;
};

/** Mail and released runs are told by a notice. This is how often a worker looks without one. */
const POLL_MS = 4_000;

/**
 * Opens a store in a Postgres database. The schema is made on its first use.
 * @example
 * const own = createEngine({ journal: openPostgres('postgres://sluice@db.internal/sluice?schema=support') });
 */
export function openPostgres(address: string, options: PostgresOptions = {}): PostgresStore {
  refuseEmpty('openPostgres', options);
  refuseKey();
  const { readOnly = false, clock, onNotice = () => undefined, onViolation, pollMs = POLL_MS } = options;
  const database = new Database(readAddress(address), readOnly, onNotice);
  const hints = new Hints(database);
  // A commit does not wait for what other parts of the process store.
  const [appends, others] = [new Lane(), new Lane()];
  const commits = new Commits(database, appends, (runs) => hints.send(runs, false));
  return {
    get id() {
      return database.id;
    },
    ready: () => database.ready(),
    journal: createJournal(database, commits),
    leases: createLeases(database, {
      clock,
      flush: () => commits.flush(),
      onReleased: (runs) => hints.send(runs, true),
    }),
    mail: createMail(database, others, (run) => hints.send([run], true)),
    index: { ...createLists(database), ...createRemoved(database), ...createRetain(database, others) },
    shared: createShared(database, others),
    pii: createVaultStore({ query: database.query, transaction: database.transaction.bind(database) }),
    attachments: createAttachments(database),
    memory: createMemory(database, onViolation),
    subscribe: hints.subscribe,
    pollMs,
    reach: 'network',
    compact: async () => {
      await commits.flush();
      await compactHeads(database);
    },
    close: async () => {
      await commits.flush().catch(() => undefined);
      await hints.close();
      await database.close();
    },
  };
}

/** Who sets a key expects that nothing is stored in clear. */
function refuseKey(): void {
  if (codecOfProcess().key === null) return;
  throw new SluiceError(
    'journal-key',
    'SLUICE_JOURNAL_KEY is set, and the store in Postgres does not seal what it stores',
    'Unset SLUICE_JOURNAL_KEY and encrypt the disk of the server, or use a SQLite file.',
  );
}
