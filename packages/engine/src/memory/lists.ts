/** The lists of the store in memory. */
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { RunId } from '@sluice-internal/kernel/ir';
import { cursorOfName, limitOf, nameBefore, pageOf, placeOf } from '../ports/page.ts';
import type {
  Index,
  ListedRun,
  OpenQuestion,
  Page,
  PageRequest,
  QuestionFilter,
  RunDetails,
  RunEntry,
  RunFilter,
} from '../ports/ports.ts';

/** A run with its number: runs are numbered in the order of their starts. */
export interface NumberedRun {
  readonly number: number;
  readonly entry: RunEntry;
  readonly details: RunDetails | null;
}

export function listRuns(runs: Iterable<NumberedRun>, filter: RunFilter & PageRequest): Page<ListedRun> {
  const limit = limitOf(filter);
  const [before = Infinity] = placeOf(filter, 1) ?? [];
  const listed = [...runs]
    .filter(({ entry, number }) => number < before && isIn(entry, filter))
    .toSorted((a, b) => b.number - a.number);
  return pageOf(
    listed.slice(0, limit + 1),
    limit,
    ({ entry, details }) => ({ ...entry, facts: details?.facts ?? null }),
    ({ number }) => [number],
  );
}

function isIn(entry: RunEntry, filter: RunFilter): boolean {
  const { status, prefix = '' } = filter;
  const isEqual = FIELDS.every((field) => filter[field] === undefined || filter[field] === entry[field]);
  return isEqual && entry.run.startsWith(prefix) && (status?.includes(entry.status) ?? true) && isInTime(entry, filter);
}

function isInTime({ startedAt, updatedAt, due: dueAt }: RunEntry, filter: RunFilter): boolean {
  const { since = -Infinity, until = Infinity, due } = filter;
  const { changedSince = -Infinity, changedUntil = Infinity } = filter;
  const isDue = due === undefined || (dueAt !== null && dueAt <= due);
  return isDue && startedAt >= since && startedAt < until && updatedAt >= changedSince && updatedAt <= changedUntil;
}
const FIELDS = ['code', 'flow', 'tenant', 'user', 'thread', 'parent'] as const;

export function listQuestions(
  runs: Iterable<NumberedRun>,
  filter: QuestionFilter & PageRequest,
): ReturnType<Index['questions']> {
  const limit = limitOf(filter);
  const place = placeOf(filter, 3);
  const asked = [...runs]
    .filter(
      ({ entry: { run, tenant } }) =>
        (filter.run ?? run) === run && (filter.tenant === undefined || filter.tenant === tenant),
    )
    .flatMap(({ number, entry: { run }, details }) =>
      (details?.questions ?? []).map((question, at) => ({ ...question, run, key: [question.askedAt, number, -at] })),
    )
    .toSorted((a, b) => compare(b.key, a.key))
    .filter(({ key: [askedAt = 0, number = 0, at = 0] }) =>
      place === null ? true : compare([askedAt, number, at], negatedLast(place)) < 0,
    );
  return Promise.resolve(
    pageOf(
      asked.slice(0, limit + 1),
      limit,
      ({ id, run, node, askedAt, expiresAt }): OpenQuestion => ({ id, run, node, askedAt, expiresAt }),
      ({ key: [askedAt = 0, number = 0, at = 0] }) => [askedAt, number, -at],
    ),
  );
}

function negatedLast([askedAt = 0, number = 0, at = 0]: readonly number[]): readonly number[] {
  return [askedAt, number, -at];
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, each] of a.entries()) if (each !== b[index]) return each - (b[index] ?? 0);
  return 0;
}

export function listTenants(runs: Iterable<NumberedRun>, page: PageRequest): Page<string> {
  const limit = limitOf(page);
  const names = new Set([...runs].flatMap(({ entry: { tenant } }) => tenant ?? []));
  const after = nameBefore(page);
  const rows = [...names].toSorted().filter((name) => name > after);
  return pageOf(
    rows.slice(0, limit + 1),
    limit,
    (name) => name,
    (name) => [cursorOfName(name)],
  );
}

export function waitingRuns(
  runs: Iterable<NumberedRun>,
  { tenant, except }: { readonly tenant?: string; readonly except: RunId },
): { readonly count: number; readonly since: number | null } {
  const times = [...runs]
    .filter(
      ({ entry }) => entry.status === 'suspended' && entry.run !== except && (tenant ?? entry.tenant) === entry.tenant,
    )
    .map(({ entry }) => entry.updatedAt);
  return { count: times.length, since: times.length === 0 ? null : Math.min(...times) };
}

/** True if an open run of the tenant has the thread. */
export function isThreadBusy(
  runs: Iterable<NumberedRun>,
  { tenant, thread }: Pick<RunEntry, 'tenant' | 'thread'>,
): boolean {
  if (thread === null) return false;
  for (const { entry } of runs)
    if (entry.thread === thread && entry.tenant === tenant && !hasEnded(entry.status)) return true;
  return false;
}
