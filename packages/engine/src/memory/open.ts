/** A store in memory, for tests and scripts. It makes the same promises as a store on a disk, apart from durability. */
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { RunId } from '@sluice-internal/kernel/ir';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { changeCursor, placeOfChange } from '../ports/changes.ts';
import { realClock } from '../ports/clock.ts';
import { SluiceError } from '../ports/errors.ts';
import type {
  Append,
  Blob,
  Cell,
  Cells,
  Checkpoint,
  Index,
  Journal,
  Leases,
  Letter,
  Mail,
  OperatorAct,
  RunDetails,
  RunEntry,
  RunScope,
  Snapshot,
  Store,
  StoreClock,
  StoredAppend,
  StoredRun,
  Tombstone,
  WorkerId,
} from '../ports/ports.ts';
import { mayAppend, needsWork, ownerAfter, planClaim, renewalOf } from '../ports/leases.ts';
import type { WorkerLease } from '../ports/leases.ts';
import { linkAct, linkTombstone } from '../journal/chain.ts';
import { limitOf, pageOf, placeOf } from '../ports/page.ts';
import { isThreadBusy, listQuestions, listRuns, listTenants, waitingRuns } from './lists.ts';

/**
 * Opens a store in memory, for tests and scripts.
 * @example
 * const own = createEngine({ journal: openMemory() });
 */
export function openMemory({ clock = realClock }: { readonly clock?: StoreClock } = {}): Store {
  const tables: Tables = {
    runs: new Map(),
    flows: new Map(),
    workers: new Map(),
    mail: new Map(),
    tombstones: [],
    values: new Map(),
    acts: [],
    lastMailId: 0,
    lastRun: 0,
    changes: [],
    lastChange: 0,
  };
  let closed = false;
  const open = (): Tables => {
    if (closed) throw new SluiceError('engine-closed', 'the store is closed');
    return tables;
  };
  return {
    id: randomUUID(),
    journal: createJournal(open),
    leases: createLeases(open, clock),
    mail: createMail(open),
    index: createIndex(open),
    shared: createShared(open),
    reach: 'process',
    close: async () => {
      closed = true;
    },
  };
}

interface Tables {
  /** In the order in which the runs were started. */
  readonly runs: Map<RunId, MemoryRun>;
  readonly flows: Map<string, string>;
  readonly workers: Map<WorkerId, WorkerLease<WorkerId>>;
  readonly mail: Map<number, Letter>;
  readonly tombstones: Tombstone[];
  readonly values: Map<string, Cell>;
  readonly acts: OperatorAct[];
  /** The appends of all runs, in order. */
  changes: { readonly number: number; readonly run: RunId; readonly seq: number }[];
  /** The number of the last one. It is not used again. */
  lastChange: number;
  /** The last id given to a piece of mail. Ids are not used again. */
  lastMailId: number;
  /** The number of the run that started last. */
  lastRun: number;
}

interface MemoryRun {
  readonly number: number;
  entry: RunEntry;
  details: RunDetails | null;
  head: number;
  readonly appends: StoredAppend[];
  readonly blobs: Map<string, Blob>;
  snapshot: Snapshot | null;
  readonly checkpoints: Checkpoint[];
}

const NO_VALUE: Cell = { value: null, version: '' };

function createShared(open: () => Tables): Cells {
  return {
    get: async (key) => open().values.get(key) ?? NO_VALUE,
    swap: async (key, version, value, given) => {
      const { values, acts } = open();
      const before = values.get(key) ?? NO_VALUE;
      if (before.version !== version) return false;
      values.set(key, { value, version: String(Number(version) + 1) });
      if (given === undefined) return true;
      const act = { ...given, key };
      acts.push({ ...act, link: linkAct(acts.at(-1)?.link ?? '', act) });
      return true;
    },
    list: async (prefix, after, limit) =>
      [...open().values]
        .filter(([key, { value }]) => value !== null && key.startsWith(prefix) && key > (after ?? ''))
        .map(([key, cell]) => ({ key, ...cell }))
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, limit),
    integrity: async () => ({ head: open().acts.at(-1)?.link ?? '', changed: [] }),
    acts: async () => [...open().acts],
  };
}

function createJournal(open: () => Tables): Journal {
  return {
    checkpoints: async (run) => [...(open().runs.get(run)?.checkpoints ?? [])],
    page: async (run, after, limit) =>
      (open().runs.get(run)?.appends ?? []).filter((append) => append.after >= after).slice(0, limit),
    changes: async (after, limit) => changes(open(), after, limit),
    load: async (run, options) => load(open(), run, options?.snapshot ?? true, options?.after ?? 0),
    commit: async (worker, appends) => {
      const tables = open();
      const holdsLease = tables.workers.get(worker)?.fenced === false;
      return appends.map((append) => (holdsLease && store(tables, worker, append) ? 'committed' : 'stale'));
    },
  };
}

function changes(tables: Tables, after: string | null, limit: number): Awaited<ReturnType<Journal['changes']>> {
  if (after === null) return { items: [], next: changeCursor(tables.lastChange) };
  const place = placeOfChange(after);
  const from = tables.changes.findLastIndex(({ number }) => number <= place) + 1;
  const found = tables.changes.slice(from, from + limit);
  const items = found.flatMap(({ number, run, seq }) => {
    const entry = tables.runs.get(run)?.entry;
    if (entry === undefined) return [];
    const { status, code, tenant } = entry;
    return [{ cursor: changeCursor(number), run, seq, status, code, tenant }];
  });
  return { items, next: items.at(-1)?.cursor ?? after };
}

function load(tables: Tables, id: RunId, wantsSnapshot: boolean, after: number): StoredRun | null {
  const run = tables.runs.get(id);
  if (run === undefined) return null;
  const snapshot = wantsSnapshot ? run.snapshot : null;
  const from = snapshot?.seq ?? after;
  return {
    flow: tables.flows.get(run.entry.hash) ?? '',
    snapshot,
    appends: run.appends.filter((append) => append.after >= from),
    blobs: [...run.blobs.values()],
  };
}

function store(tables: Tables, worker: WorkerId, append: Append): boolean {
  const { after, count, at, body, hash, blobs, snapshot, entry, checkpoint, details } = append;
  const run = tables.runs.get(append.run) ?? create(tables, worker, append);
  if (run === null || !mayAppend(run.entry, worker) || run.head !== after) return false;
  run.appends.push({ after, count, at, body, hash });
  run.head = after + count;
  tables.lastChange += 1;
  tables.changes.push({ number: tables.lastChange, run: append.run, seq: run.head });
  for (const blob of blobs) if (!run.blobs.has(blob.hash)) run.blobs.set(blob.hash, blob);
  if (snapshot !== null && snapshot.seq > (run.snapshot?.seq ?? 0)) run.snapshot = snapshot;
  if (checkpoint !== undefined) run.checkpoints.push(checkpoint);
  if (details !== undefined) run.details = details;
  if (entry === null) return true;
  const { status, code, due } = entry;
  run.entry = { ...run.entry, status, code, due, updatedAt: at, owner: ownerAfter(status, worker) };
  return true;
}

function create(tables: Tables, owner: WorkerId, { run, after, at, entry, flow }: Append): MemoryRun | null {
  const removed = tables.tombstones.some((tombstone) => tombstone.run === run);
  if (after !== 0 || entry?.first === undefined || removed) return null;
  if (isThreadBusy(tables.runs.values(), entry.first)) return null;
  if (flow === null) throw new TypeError(`the first append of run ${run} has no flow`);
  const { status, code, due, first } = entry;
  const { hash } = flow;
  if (!tables.flows.has(hash)) tables.flows.set(hash, flow.text);
  tables.lastRun += 1;
  const created: MemoryRun = {
    number: tables.lastRun,
    details: null,
    entry: { run, hash, ...first, status, code, updatedAt: at, due, owner },
    head: 0,
    appends: [],
    blobs: new Map(),
    snapshot: null,
    checkpoints: [],
  };
  tables.runs.set(run, created);
  return created;
}

function createLeases(open: () => Tables, clock: StoreClock): Leases {
  return {
    renew: async (worker, term) => {
      const { workers } = open();
      if (renewalOf(workers.get(worker)) === 'refuse') return null;
      workers.set(worker, { id: worker, until: clock.elapsed() + term, term, fenced: false, process: null });
      return clock.now();
    },
    claim: async (worker, which) => claim(open(), worker, clock, which),
    release: async (worker, runs) => release(open(), worker, runs),
    resign: async (worker) => {
      const tables = open();
      release(tables, worker, [...tables.runs.keys()]);
      tables.workers.delete(worker);
    },
  };
}

function createMail(open: () => Tables): Mail {
  return {
    post: async (run, fact) => {
      const tables = open();
      if (!tables.runs.has(run))
        throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
      tables.lastMailId += 1;
      tables.mail.set(tables.lastMailId, { id: tables.lastMailId, run, fact: structuredClone(fact) });
    },
    take: async (worker, done = []) => {
      const { mail, runs, workers } = open();
      for (const id of done) mail.delete(id);
      if (workers.get(worker)?.fenced !== false) return [];
      return [...mail.values()].filter(({ run }) => runs.get(run)?.entry.owner === worker);
    },
  };
}

function createIndex(open: () => Tables): Index {
  return {
    list: async (filter = {}) => listRuns(open().runs.values(), filter),
    find: async (run) => open().runs.get(run)?.entry ?? null,
    questions: async (filter = {}) => listQuestions(open().runs.values(), filter),
    waiting: async (filter) => waitingRuns(open().runs.values(), filter),
    tenants: async (page = {}) => listTenants(open().runs.values(), page),
    describe: async (run, details) => {
      const found = open().runs.get(run);
      if (found === undefined || isDeepStrictEqual(found.details, details)) return false;
      found.details = details;
      return true;
    },
    expired: async (of, rule) => expired(open(), of, rule),
    remove: async (runs, files) => {
      const tables = open();
      const ended = runs.filter((run) => hasEnded(tables.runs.get(run)?.entry.status ?? 'running'));
      return remove(tables, ended, files);
    },
    removed: async (run) => open().tombstones.find((tombstone) => tombstone.run === run) ?? null,
    tombstones: async (page = {}) => {
      const { tombstones } = open();
      const limit = limitOf(page);
      const [after = 0] = placeOf(page, 1) ?? [];
      const rows = tombstones
        .slice(after, after + limit + 1)
        .map((tombstone, at) => ({ tombstone, at: after + at + 1 }));
      const found = pageOf(
        rows,
        limit,
        ({ tombstone }) => tombstone,
        ({ at }) => [at],
      );
      return { ...found, head: tombstones.at(-1)?.link ?? '' };
    },
  };
}

function claim(tables: Tables, worker: WorkerId, clock: StoreClock, which: Parameters<Leases['claim']>[1]): RunId[] {
  const plan = planClaim([...tables.workers.values()], worker, clock.elapsed());
  if (plan === null) return [];
  const isFree = ({ entry: { owner } }: MemoryRun): boolean =>
    owner === null || !tables.workers.has(owner) || plan.gone.includes(owner);
  const mailed = new Set([...tables.mail.values()].map(({ run }) => run));
  const all = [...tables.runs.values()];
  const runs =
    'run' in which
      ? all.filter((run) => run.entry.run === which.run && (run.entry.owner === worker || isFree(run)))
      : all
          .filter((run) => isFree(run) && needsWork(run.entry, mailed.has(run.entry.run), clock.now()))
          .filter(({ entry }) => which.tenant === undefined || entry.tenant === which.tenant)
          .filter((run) => which.except?.includes(run.entry.run) !== true)
          .slice(0, which.limit);
  for (const run of runs) {
    const { owner } = run.entry;
    const previous = owner === null || owner === worker ? undefined : tables.workers.get(owner);
    if (previous !== undefined) tables.workers.set(previous.id, { ...previous, fenced: true });
    run.entry = { ...run.entry, owner: worker };
  }
  return runs.map(({ entry }) => entry.run);
}

function release(tables: Tables, worker: WorkerId, runs: readonly RunId[]): void {
  for (const id of runs) {
    const run = tables.runs.get(id);
    if (run?.entry.owner === worker) run.entry = { ...run.entry, owner: null };
  }
}

function expired(tables: Tables, of: RunScope, rule: Parameters<Index['expired']>[1]): RunId[] {
  const all = [...tables.runs.values()].map(({ entry }) => entry);
  const isIn = ({ flow, tenant, notation }: RunEntry): boolean =>
    'flow' in of ? flow === of.flow && tenant === of.tenant : notation === of.notation;
  const mine = all.filter(isIn);
  // The sort is stable: of runs that started in the same millisecond, the later ones are kept.
  const ended = mine.filter(({ status }) => hasEnded(status)).sort((a, b) => a.startedAt - b.startedAt);
  const above = rule.runs === undefined ? [] : ended.slice(0, Math.max(0, mine.length - rule.runs));
  const late = ended.filter(({ updatedAt }) => updatedAt < (rule.endedBefore ?? -Infinity));
  return [...new Set([...above, ...late].map(({ run }) => run))];
}

function remove(tables: Tables, dropped: readonly RunId[], files?: ReadonlyMap<RunId, string>): RunId[] {
  for (const run of dropped) {
    const { head: events, appends, entry } = tables.runs.get(run) as MemoryRun;
    const [hash, file] = [appends.at(-1)?.hash ?? '', files?.get(run) ?? null];
    const tombstone = { run, events, hash, at: Date.now(), tenant: entry.tenant, file };
    tables.tombstones.push({ ...tombstone, link: linkTombstone(tables.tombstones.at(-1)?.link ?? '', tombstone) });
    tables.runs.delete(run);
  }
  tables.changes = tables.changes.filter(({ run }) => !dropped.includes(run));
  for (const { id, run } of tables.mail.values()) if (dropped.includes(run)) tables.mail.delete(id);
  return [...dropped];
}
