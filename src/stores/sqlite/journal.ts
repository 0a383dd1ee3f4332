/**
 * The journal's two verbs. Commits that are asked for before the next turn of the event loop share one transaction, and so
 * one wait for the disk.
 */
import type { Append, Journal, WorkerId } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { createAppends } from './appends.ts';
import type { Stored } from './appends.ts';
import type { Connection } from './connection.ts';
import { createLoad } from './load.ts';

export interface GroupedJournal extends Journal {
  /** Writes what was asked for so far. */
  flush(): void;
}

export function createJournal(connection: Connection): GroupedJournal {
  const store = createAppends(connection);
  const load = createLoad(connection);
  let waiting: Call[] = [];

  const flush = (): void => {
    const calls = waiting;
    waiting = [];
    if (calls.length > 0) settle(calls);
  };
  const settle = (calls: readonly Call[]): void => {
    let results: Stored[][];
    try {
      results = connection.write(() => calls.map(({ worker, appends }) => store(worker, appends)));
    } catch (error) {
      // A disk that is full is full for all. A mistake in one call is not to be paid by the others.
      if (calls.length > 1 && !(error instanceof SluiceError)) for (const call of calls) settle([call]);
      else for (const { reject } of calls) reject(error);
      return;
    }
    for (const [index, { resolve }] of calls.entries()) resolve(results[index] ?? []);
  };

  return {
    flush,
    load: async (run, options) => load(run, options?.snapshot ?? true),
    commit: (worker, appends) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) queueMicrotask(flush);
        waiting.push({ worker, appends, resolve, reject });
      }),
  };
}

interface Call {
  readonly worker: WorkerId;
  readonly appends: readonly Append[];
  readonly resolve: (results: readonly Stored[]) => void;
  readonly reject: (error: unknown) => void;
}
