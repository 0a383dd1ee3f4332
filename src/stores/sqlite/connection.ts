/**
 * One connection, and what it knows of the file by heart. That knowledge holds as long as nobody else has written:
 * `data_version` tells, inside the transaction, whether somebody has. After any failure nothing is known.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RunId } from '../../ir/events.ts';
import { faultOf } from './faults.ts';

/** A run as the tables have it: its number, its last event, the number of its owner, and whether it waits. */
export interface KnownRun {
  readonly id: number;
  head: number;
  owner: number | null;
  readonly waits: boolean;
}

export interface Connection {
  readonly known: Map<RunId, KnownRun>;
  /** Numbers of graphs, by hash, and of workers whose leases hold, by name. */
  readonly graphs: Map<string, number>;
  readonly leases: Map<string, number>;
  /** A prepared statement whose rows are arrays. */
  prepare(sql: string): StatementSync;
  /** All of the work in one durable step, or none of it. */
  write<T>(work: () => T): T;
  /** Every statement sees the same state of the file. */
  read<T>(work: () => T): T;
  close(): void;
}

/** In commits. One step at a time, this is about half a megabyte of log; batches are taken over by their size. */
const CHECKPOINT_EVERY = 128;

export function createConnection(db: DatabaseSync, path: string): Connection {
  const known = new Map<RunId, KnownRun>();
  const graphs = new Map<string, number>();
  const leases = new Map<string, number>();
  const forget = (): void => {
    known.clear();
    graphs.clear();
    leases.clear();
  };
  const prepare = (sql: string): StatementSync => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  const beginWrite = prepare('BEGIN IMMEDIATE');
  const beginRead = prepare('BEGIN');
  const commit = prepare('COMMIT');
  const dataVersion = prepare('PRAGMA data_version');
  const checkpoint = prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let commits = 0;
  let seen = -1;

  const within = <T>(begin: StatementSync, work: () => T): T => {
    try {
      begin.run();
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      forget();
      if (db.isOpen && db.isTransaction) db.exec('ROLLBACK');
      throw faultOf(error, path);
    }
  };
  /**
   * A write-ahead log that is taken over into the file begins again at its front. Writing over what is there is much cheaper
   * to make durable than letting a file grow, so that this is worth doing long before the log is long.
   */
  const tidyUp = (): void => {
    commits += 1;
    if (commits % CHECKPOINT_EVERY !== 0) return;
    try {
      checkpoint.get();
    } catch {
      // What was committed holds all the same; the log is a little longer until the next time.
    }
  };
  const forgetWhatOthersChanged = (): void => {
    const [version] = dataVersion.get() as unknown as [number];
    if (version !== seen) forget();
    seen = version;
  };

  return {
    known,
    graphs,
    leases,
    prepare,
    write: (work) => {
      const result = within(beginWrite, () => {
        forgetWhatOthersChanged();
        return work();
      });
      tidyUp();
      return result;
    },
    read: (work) => within(beginRead, work),
    close: () => {
      if (!db.isOpen) return;
      try {
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      } catch {
        // What could not be moved stays in the write-ahead log, where the next opening finds it.
      }
      db.close();
    },
  };
}
