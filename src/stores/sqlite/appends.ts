/**
 * Stores appends, inside a transaction that somebody else opens. One look at the worker's lease holds for all of them; an
 * append that brings nothing but its body costs one row. What cannot be stored is `stale`, and leaves no trace.
 */
import type { RunStatus } from '../../ir/codes.ts';
import type { Append, RunEntryChange, WorkerId } from '../../runtime/ports.ts';
import type { Connection, KnownRun } from './connection.ts';

export type Stored = 'committed' | 'stale';

export function createAppends(connection: Connection): (worker: WorkerId, appends: readonly Append[]) => Stored[] {
  const { known, graphs, leases, prepare } = connection;
  const lease = prepare('SELECT id FROM workers WHERE worker = ? AND fenced = 0');
  const findRun = prepare(
    'SELECT id, owner, (SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1), status FROM runs WHERE run = ?',
  );
  const findFlow = prepare('SELECT id FROM flows WHERE hash = ?');
  const insertFlow = prepare('INSERT INTO flows (hash, text) VALUES (?, ?)');
  const insertRun = prepare(
    'INSERT INTO runs (run, graph, flow, notation, status, code, started_at, updated_at, due, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO NOTHING',
  );
  const updateRun = prepare('UPDATE runs SET status = ?, code = ?, updated_at = ?, due = ?, owner = ? WHERE id = ?');
  const insertLog = prepare('INSERT INTO log (run, after, count, at, body, hash) VALUES (?, ?, ?, ?, ?, ?)');
  const findBlob = prepare('SELECT 1 FROM blobs WHERE run = ? AND hash = ?');
  const insertBlob = prepare('INSERT INTO blobs (run, hash, body) VALUES (?, ?, ?)');
  const upsertSnapshot = prepare(
    'INSERT INTO snapshots (run, seq, hash, body) VALUES (?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body WHERE excluded.seq > seq',
  );

  return (worker, appends) => {
    const held = leases.get(worker) ?? leaseOf(worker);
    return appends.map((append) => (held === null ? 'stale' : store(held, append)));
  };

  function leaseOf(worker: WorkerId): number | null {
    const row = lease.get(worker) as [number] | undefined;
    if (row === undefined) return null;
    leases.set(worker, row[0]);
    return row[0];
  }

  function store(worker: number, append: Append): Stored {
    const { after, count, at, body, hash, entry, blobs, snapshot } = append;
    let run: KnownRun | undefined;
    if (after === 0) {
      if (entry?.first === undefined || known.has(append.run)) return 'stale';
      run = create(worker, append, entry, entry.first);
      if (run === undefined) return 'stale';
    } else {
      run = known.get(append.run) ?? look(append);
      if (run === undefined || !mayAppend(run, worker) || run.head !== after) return 'stale';
      if (entry !== null) updateRun.run(entry.status, entry.code, at, entry.due, ownerAfter(entry, worker), run.id);
    }
    insertLog.run(run.id, after, count, at, body, hash);
    run.head = after + count;
    for (const blob of blobs)
      if (findBlob.get(run.id, blob.hash) === undefined) insertBlob.run(run.id, blob.hash, blob.body);
    if (snapshot !== null) upsertSnapshot.run(run.id, snapshot.seq, snapshot.hash, snapshot.body);
    // What nobody works on may change hands unseen, so that there is nothing to remember of it.
    if (entry === null) return 'committed';
    run.owner = ownerAfter(entry, worker);
    if (run.owner === null) known.delete(append.run);
    return 'committed';
  }

  function look({ run }: Append): KnownRun | undefined {
    const row = findRun.get(run) as [number, number | null, number | null, RunStatus] | undefined;
    if (row === undefined) return undefined;
    const found = { id: row[0], owner: row[1], head: row[2] ?? 0, waits: row[3] === 'suspended' };
    if (found.owner !== null) known.set(run, found);
    return found;
  }

  function create(
    worker: number,
    append: Append,
    entry: RunEntryChange,
    first: NonNullable<RunEntryChange['first']>,
  ): KnownRun | undefined {
    const { flow, at } = append;
    if (flow === null) throw new TypeError(`the first append of run ${append.run} brings no flow`);
    const graph = graphs.get(flow.hash) ?? graphOf(flow.hash, flow.text);
    const { status, code, due } = entry;
    const { changes, lastInsertRowid } = insertRun.run(
      append.run,
      graph,
      first.flow,
      first.notation,
      status,
      code,
      first.startedAt,
      at,
      due,
      ownerAfter(entry, worker),
    );
    if (changes === 0) return undefined;
    const run = { id: Number(lastInsertRowid), head: 0, owner: worker, waits: false };
    known.set(append.run, run);
    return run;
  }

  function graphOf(hash: string, text: string): number {
    const found = findFlow.get(hash) as [number] | undefined;
    const id = found === undefined ? Number(insertFlow.run(hash, text).lastInsertRowid) : found[0];
    graphs.set(hash, id);
    return id;
  }
}

function ownerAfter(entry: RunEntryChange, worker: number): number | null {
  return hasEnded(entry) || entry.status === 'suspended' ? null : worker;
}

/** A run that waits for a person belongs to nobody; whoever has its answer takes it with the append that says so. */
function mayAppend({ owner, waits }: KnownRun, worker: number): boolean {
  return owner === worker || (owner === null && waits);
}

function hasEnded({ status }: RunEntryChange): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
