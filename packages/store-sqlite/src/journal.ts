/** Loads and commits runs. Commits requested in the same turn of the event loop share one transaction and one fsync. */
import { SluiceError } from '@sluice-internal/engine/ports';
import type {
  Append,
  Blob,
  Index,
  Journal,
  Snapshot,
  StoredAppend,
  StoredRun,
  WorkerId,
} from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { Appends } from './appends.ts';
import type { Stored } from './appends.ts';
import { createChanges } from './changes.ts';
import type { Connection } from './connection.ts';
import { createAudit } from './fold-heads.ts';
import type { Heads } from './heads.ts';
import { placeOfAppend, placeOfBlob, placeOfGraph, placeOfSnapshot } from './places.ts';

export interface GroupedJournal extends Journal {
  /** Writes all commits requested so far. */
  flush(): void;
  describe: Index['describe'];
  /** Puts one row in the place of the chains of heads. */
  compactHeads(): void;
}

export function createJournal(connection: Connection, heads: Heads): GroupedJournal {
  const appended = new Appends(connection, heads);
  const audit = createAudit(connection, heads.store);
  const broken = (): string | null => {
    const found = audit();
    return typeof found === 'string' ? found : null;
  };
  const { store } = heads;
  const load = createLoad(connection, store);
  let waiting: Call[] = [];

  const flush = (): void => {
    const calls = waiting;
    waiting = [];
    if (calls.length > 0) commitAtOnce(calls);
  };
  const commitAtOnce = (calls: readonly Call[]): void => {
    let results: Stored[][];
    try {
      results = connection.write(() => calls.map(({ worker, appends }) => appended.store(worker, appends)));
    } catch (error) {
      // A SluiceError, such as a full disk, concerns all calls. Any other error concerns one: repeat them one by one.
      if (calls.length > 1 && !(error instanceof SluiceError)) for (const call of calls) commitAtOnce([call]);
      else for (const { reject } of calls) reject(error);
      return;
    }
    for (let index = 0; index < calls.length; index++) calls[index]?.resolve(results[index] ?? []);
  };

  return {
    flush,
    compactHeads: () =>
      connection.write(() => {
        const found = audit();
        // The rows of a database that was changed from outside show what was changed.
        if (typeof found !== 'string') heads.compact(found);
      }),
    describe: async (run, details) => connection.write(() => appended.describe(run, details)),
    load: async (run, options) => load(run, options?.snapshot ?? true, options?.after ?? 0),
    page: createPage(connection, store),
    end: createEnd(connection),
    changes: createChanges(connection),
    broken: (run) => connection.readTogether(() => (run === undefined ? broken() : heads.brokenRun(run))),
    checkpoints: createCheckpoints(connection),
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

function createEnd(connection: Connection): NonNullable<Journal['end']> {
  const find = connection.prepare('SELECT events, head FROM ends WHERE name = ?');
  return async (run) => {
    const row = connection.read(() => find.get(run)) as unknown as [number, string] | undefined;
    return row === undefined ? null : { events: row[0], head: row[1] };
  };
}

function createPage(connection: Connection, store: string): Journal['page'] {
  const find = connection.prepare(
    `SELECT after, count, at, body, hash FROM log
     WHERE run = (SELECT id FROM runs WHERE run = ?) AND after >= ? ORDER BY after LIMIT ?`,
  );
  return async (run, after, limit) =>
    connection
      .read(() => find.all(run, after, limit) as unknown as AppendRow[])
      .map((row) => toAppend(connection, store, run, row));
}

function createCheckpoints(connection: Connection): NonNullable<Journal['checkpoints']> {
  const find = connection.prepare(
    'SELECT seq, head, at, key, signature FROM checkpoints WHERE run = (SELECT id FROM runs WHERE run = ?) ORDER BY seq',
  );
  return async (run) =>
    connection.read(() =>
      (find.all(run) as unknown as [number, string, number, string, string][]).map(
        ([seq, head, at, key, signature]) => ({ seq, head, at, key, signature }),
      ),
    );
}

function createLoad(
  connection: Connection,
  store: string,
): (run: RunId, wantsSnapshot: boolean, after: number) => StoredRun | null {
  const { codec, prepare } = connection;
  // A run whose graph was deleted is a broken run and not an absent one.
  const findRun = prepare(
    "SELECT runs.id, coalesce(flows.text, ''), coalesce(flows.hash, '') FROM runs LEFT JOIN flows ON flows.id = runs.graph WHERE run = ?",
  );
  const findSnapshot = prepare('SELECT seq, hash, body FROM snapshots WHERE run = ?');
  const lastBefore = prepare(
    'SELECT after + count, hash FROM log WHERE run = ? AND after < ? ORDER BY after DESC LIMIT 1',
  );
  const appendsFrom = prepare(
    'SELECT after, count, at, body, hash FROM log WHERE run = ? AND after >= ? ORDER BY after',
  );
  const blobsOf = prepare('SELECT hash, body FROM blobs WHERE run = ? ORDER BY id');

  return (run, wantsSnapshot, after) =>
    connection.read(() => {
      const found = findRun.get(run) as [number, string, string] | undefined;
      if (found === undefined) return null;
      const [id, graph, hash] = found;
      const flow = codec.open(graph, placeOfGraph(store, hash));
      const snapshot = wantsSnapshot ? snapshotOf(id, run) : null;
      const appends = appendsFrom.all(id, snapshot?.seq ?? after) as unknown as AppendRow[];
      const blobs = blobsOf.all(id) as unknown as [string, string][];
      return {
        flow,
        snapshot,
        appends: appends.map((row) => toAppend(connection, store, run, row)),
        blobs: blobs.map(([of, body]): Blob => ({ hash: of, body: codec.open(body, placeOfBlob(store, run, of)) })),
      };
    });

  function snapshotOf(id: number, run: RunId): Snapshot | null {
    const row = findSnapshot.get(id) as [number, string, string] | undefined;
    if (row === undefined) return null;
    const [seq, hash, body] = row;
    const at = lastBefore.get(id, seq) as [number, string] | undefined;
    if (at === undefined || at[0] !== seq || at[1] !== hash) return null;
    return { seq, hash, body: codec.open(body, placeOfSnapshot(store, run, seq)) };
  }
}

type AppendRow = readonly [number, number, number, string, string];

function toAppend({ codec }: Connection, store: string, run: RunId, row: AppendRow): StoredAppend {
  const [after, count, at, body, hash] = row;
  return { after, count, at, body: codec.open(body, placeOfAppend(store, run, after)), hash };
}
