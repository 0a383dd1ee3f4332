/** The roster in memory. Several workers may share one store, as they share a file. */
import type { Instant, RunId } from '../../ir/events.ts';
import type { Roster, RunEntry, WorkerId } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { hasEnded } from './tables.ts';
import type { MemoryRun, Tables } from './tables.ts';

export function createRoster(open: () => Tables): Roster {
  return {
    renew: async (worker, _now, until) => {
      const { workers } = open();
      const lease = workers.get(worker);
      if (lease?.fenced === true) return false;
      workers.set(worker, { until, fenced: false });
      return true;
    },
    claim: async (worker, now, what) => claim(open(), worker, now, what),
    release: async (worker, runs) => free(open(), worker, runs),
    resign: async (worker) => {
      const tables = open();
      free(tables, worker, [...tables.runs.keys()]);
      tables.workers.delete(worker);
    },
    post: async (run, fact) => {
      const tables = open();
      if (!tables.runs.has(run)) throw new SluiceError('run-not-found', `there is no run \`${run}\``);
      tables.mailed += 1;
      tables.mail.set(tables.mailed, { id: tables.mailed, run, fact: structuredClone(fact) });
    },
    mail: async (worker) => {
      const { mail, runs, workers } = open();
      if (workers.get(worker)?.fenced !== false) return [];
      return [...mail.values()].filter(({ run }) => runs.get(run)?.entry.owner === worker);
    },
    strike: async (ids) => {
      const { mail } = open();
      for (const id of ids) mail.delete(id);
    },
    list: async (filter = {}) => {
      const entries = [...open().runs.values()].map(({ entry }) => entry).reverse();
      return entries.filter(({ status }) => filter.status?.includes(status) ?? true).slice(0, filter.limit);
    },
    find: async (run) => open().runs.get(run)?.entry ?? null,
    retain: async (notation, keep) => retain(open(), notation, keep),
  };
}

function claim(tables: Tables, worker: WorkerId, now: Instant, what: Parameters<Roster['claim']>[2]): RunId[] {
  const lease = tables.workers.get(worker);
  if (lease === undefined || lease.fenced || lease.until <= now) return [];
  const gone = (owner: WorkerId | null): boolean => {
    const other = owner === null ? undefined : tables.workers.get(owner);
    return other === undefined || other.fenced || other.until <= now;
  };
  const taken: MemoryRun[] = [];
  if ('run' in what) {
    const run = tables.runs.get(what.run);
    if (run !== undefined && (run.entry.owner === worker || gone(run.entry.owner))) taken.push(run);
  } else {
    const mailed = new Set([...tables.mail.values()].map(({ run }) => run));
    for (const run of tables.runs.values()) {
      if (taken.length >= what.limit) break;
      if (gone(run.entry.owner) && (needsWork(run.entry, now) || mailed.has(run.entry.run))) taken.push(run);
    }
  }
  for (const run of taken) {
    const { owner } = run.entry;
    const previous = owner === null || owner === worker ? undefined : tables.workers.get(owner);
    if (previous !== undefined) previous.fenced = true;
    run.entry = { ...run.entry, owner: worker };
  }
  return taken.map(({ entry }) => entry.run);
}

function needsWork({ status, due }: RunEntry, now: Instant): boolean {
  if (status === 'suspended') return due !== null && due <= now;
  return status === 'pending' || status === 'running';
}

function free(tables: Tables, worker: WorkerId, runs: readonly RunId[]): void {
  for (const id of runs) {
    const run = tables.runs.get(id);
    if (run?.entry.owner === worker) run.entry = { ...run.entry, owner: null };
  }
}

function retain(tables: Tables, notation: string, keep: number): RunId[] {
  const all = [...tables.runs.values()].map(({ entry }) => entry).filter((entry) => entry.notation === notation);
  const ended = all.filter(hasEnded);
  // Sorting is stable, so that of those which started together the latest are kept.
  const oldestFirst = ended.sort((a, b) => a.startedAt - b.startedAt);
  const forgotten = oldestFirst.slice(0, Math.max(0, all.length - keep)).map(({ run }) => run);
  for (const run of forgotten) tables.runs.delete(run);
  for (const { id, run } of tables.mail.values()) if (forgotten.includes(run)) tables.mail.delete(id);
  return forgotten;
}
