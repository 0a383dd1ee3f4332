/** Reads a run back. A snapshot that does not fit the log is as good as none: it is a cache, and the log is the truth. */
import type { RunId } from '../../ir/events.ts';
import type { Blob, Snapshot, StoredAppend, StoredRun } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

export function createLoad(connection: Connection): (run: RunId, wantsSnapshot: boolean) => StoredRun | null {
  const { prepare } = connection;
  const findRun = prepare('SELECT runs.id, flows.text FROM runs JOIN flows ON flows.id = runs.graph WHERE run = ?');
  const findSnapshot = prepare('SELECT seq, hash, body FROM snapshots WHERE run = ?');
  const lastBefore = prepare(
    'SELECT after + count, hash FROM log WHERE run = ? AND after < ? ORDER BY after DESC LIMIT 1',
  );
  const appendsFrom = prepare(
    'SELECT after, count, at, body, hash FROM log WHERE run = ? AND after >= ? ORDER BY after',
  );
  const blobsOf = prepare('SELECT hash, body FROM blobs WHERE run = ? ORDER BY id');

  return (run, wantsSnapshot) =>
    connection.read(() => {
      const found = findRun.get(run) as [number, string] | undefined;
      if (found === undefined) return null;
      const [id, flow] = found;
      const snapshot = wantsSnapshot ? snapshotOf(id) : null;
      const appends = appendsFrom.all(id, snapshot?.seq ?? 0) as unknown as AppendRow[];
      const blobs = blobsOf.all(id) as unknown as [string, string][];
      return { flow, snapshot, appends: appends.map(toAppend), blobs: blobs.map(toBlob) };
    });

  function snapshotOf(id: number): Snapshot | null {
    const row = findSnapshot.get(id) as [number, string, string] | undefined;
    if (row === undefined) return null;
    const [seq, hash, body] = row;
    const at = lastBefore.get(id, seq) as [number, string] | undefined;
    return at !== undefined && at[0] === seq && at[1] === hash ? { seq, hash, body } : null;
  }
}

type AppendRow = readonly [number, number, number, string, string];

function toAppend([after, count, at, body, hash]: AppendRow): StoredAppend {
  return { after, count, at, body, hash };
}

function toBlob([hash, body]: readonly [string, string]): Blob {
  return { hash, body };
}
