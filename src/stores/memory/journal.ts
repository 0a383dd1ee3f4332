/** The journal in memory. It keeps the same promises about fences and leases as one on a disk, apart from durability. */
import type { RunId } from '../../ir/events.ts';
import type { Append, Journal, StoredRun, WorkerId } from '../../runtime/ports.ts';
import { hasEnded } from './tables.ts';
import type { MemoryRun, Tables } from './tables.ts';

export function createJournal(open: () => Tables): Journal {
  return {
    load: async (run, options) => load(open(), run, options?.snapshot ?? true),
    commit: async (worker, appends) => {
      const tables = open();
      const lease = tables.workers.get(worker);
      const holds = lease !== undefined && !lease.fenced;
      return appends.map((append) => (holds && store(tables, worker, append) ? 'committed' : 'stale'));
    },
  };
}

function load(tables: Tables, id: RunId, wantsSnapshot: boolean): StoredRun | null {
  const run = tables.runs.get(id);
  if (run === undefined) return null;
  const snapshot = wantsSnapshot ? run.snapshot : null;
  const from = snapshot?.seq ?? 0;
  return {
    flow: tables.flows.get(run.entry.hash) ?? '',
    snapshot,
    appends: run.appends.filter(({ after }) => after >= from),
    blobs: [...run.blobs.values()],
  };
}

function store(tables: Tables, worker: WorkerId, append: Append): boolean {
  const { after, count, at, body, hash, blobs, snapshot } = append;
  const run = tables.runs.get(append.run) ?? create(tables, worker, append);
  if (run === null || !mayAppend(run, worker) || run.head !== after) return false;
  run.appends.push({ after, count, at, body, hash });
  run.head = after + count;
  for (const blob of blobs) if (!run.blobs.has(blob.hash)) run.blobs.set(blob.hash, blob);
  if (snapshot !== null && snapshot.seq > (run.snapshot?.seq ?? 0)) run.snapshot = snapshot;
  change(run, worker, append);
  return true;
}

function create(tables: Tables, owner: WorkerId, { run, after, at, entry, flow }: Append): MemoryRun | null {
  if (after !== 0 || entry?.first === undefined) return null;
  if (flow === null) throw new TypeError(`the first append of run ${run} brings no flow`);
  const { status, code, due, first } = entry;
  const { hash } = flow;
  if (!tables.flows.has(hash)) tables.flows.set(hash, flow.text);
  const created: MemoryRun = {
    entry: {
      run,
      flow: first.flow,
      hash,
      notation: first.notation,
      status,
      code,
      startedAt: first.startedAt,
      updatedAt: at,
      due,
      owner,
    },
    head: 0,
    appends: [],
    blobs: new Map(),
    snapshot: null,
  };
  tables.runs.set(run, created);
  return created;
}

/** A run that waits for a person belongs to nobody; whoever has its answer takes it with the append that says so. */
function mayAppend({ entry }: MemoryRun, worker: WorkerId): boolean {
  return entry.owner === worker || (entry.owner === null && entry.status === 'suspended');
}

function change(run: MemoryRun, worker: WorkerId, { at, entry }: Append): void {
  if (entry === null) return;
  const { status, code, due } = entry;
  const owner = hasEnded(entry) || status === 'suspended' ? null : worker;
  run.entry = { ...run.entry, status, code, due, updatedAt: at, owner };
}
