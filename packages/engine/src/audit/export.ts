/**
 * A run as a file that needs no database, and the heads of all runs. The file is checked by its own chain. The heads are compared
 * with a database that may have been rolled back or rewritten since.
 */
import { isRecord, jsonOr, parseJson } from '@sluice-internal/kernel/expr';
import type { Instant, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { eachOf } from '../ports/page.ts';
import { reportOf } from '../report/report.ts';
import type { Checkpoint, Journal, RunEntry, Store, StoredRun } from '../ports/ports.ts';
import { audit } from './audit.ts';
import type { Audit } from './audit.ts';
import { withCheckpoints } from '../journal/audit-checkpoints.ts';
import { readRun, type ReadRun } from '../journal/open-run.ts';

const RUN_FILE = 'sluice-run/1';
const HEADS_FILE = 'sluice-heads/1';

export interface RunFile {
  readonly format: typeof RUN_FILE;
  readonly store: string;
  readonly run: RunId;
  readonly entry: RunEntry;
  /** The graph with its boundaries, policies, prices and agents; the text that the chain covers. */
  readonly graph: string;
  readonly appends: StoredRun['appends'];
  readonly values: StoredRun['blobs'];
  /** Signed statements about the chain. */
  readonly checkpoints?: readonly Checkpoint[];
  /** For readers. Computed from the events, and compared with them when the file is checked. */
  readonly summary: RunSummary;
}
interface RunSummary {
  readonly code: string | null;
  readonly output: unknown;
  readonly approvals: unknown;
  readonly receipts: unknown;
  readonly policies: unknown;
  readonly boundaries: unknown;
}

export async function exportRun(store: Store, run: RunId): Promise<RunFile> {
  const stored = await store.journal.load(run, { snapshot: false });
  const entry = await store.index.find(run);
  if (stored === null || entry === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
  return {
    format: RUN_FILE,
    store: store.id,
    run,
    entry: { ...entry, owner: null },
    graph: stored.flow,
    appends: stored.appends,
    values: stored.blobs,
    checkpoints: (await store.journal.checkpoints?.(run)) ?? [],
    summary: summaryOf(await readRun(store.journal, run)),
  };
}

/** Null if the text is not such a file. */
export function readRunFile(text: string): RunFile | null {
  const read = parsed(text);
  return read?.['format'] === RUN_FILE ? (read as unknown as RunFile) : null;
}

export async function auditRunFile(file: RunFile, trusted: string | null = null): Promise<Audit> {
  const stored: StoredRun = { flow: file.graph, snapshot: null, appends: file.appends, blobs: file.values };
  const journal: Pick<Journal, 'load' | 'page'> = {
    load: async () => stored,
    page: async (_, after, limit) => file.appends.filter((append) => append.after >= after).slice(0, limit),
  };
  const { store, run, entry, appends, checkpoints = [] } = file;
  const chain = await audit(journal as Journal, run, entry);
  const checked = withCheckpoints(chain, { store, run, appends, checkpoints, entry }, trusted);
  if (!checked.ok) return checked;
  const changed = await changedPart(file, journal as Journal);
  if (changed === null) return checked;
  const seq = checked.events;
  return { ...checked, ok: false, broken: { seq, last: seq, message: `the ${changed} of the file was changed` } };
}

/** The part of the file that does not follow from its journal. */
async function changedPart({ run, store, entry, summary }: RunFile, journal: Journal): Promise<string | null> {
  const read = await readRun(journal, run);
  const { pins } = read.state.origin;
  if (pins?.store !== store) return 'store';
  if ((entry as typeof entry | undefined) === undefined) return 'entry';
  return JSON.stringify(summaryOf(read)) === JSON.stringify(summary) ? null : 'summary';
}

function summaryOf(read: ReadRun): RunSummary {
  const { code, output, approvals, receipts } = reportOf(read);
  const { policies = {}, boundaries = {} } = read.program.flow;
  // JSON has no undefined fields. Without them the summary can be compared with that of a file.
  return parseJson(
    JSON.stringify({ code, output, approvals, receipts, policies, boundaries }),
  ) as unknown as RunSummary;
}

export interface HeadsFile {
  readonly format: typeof HEADS_FILE;
  readonly store: string;
  readonly at: Instant;
  readonly runs: readonly { readonly run: RunId; readonly events: number; readonly head: string }[];
}

/**
 * The heads of all runs. Throws if the chain of a run is broken. Without the key of the store, the heads are those that its chains of
 * heads record, and events are not checked.
 */
export async function headsOf(store: Store, at: Instant): Promise<HeadsFile> {
  const runs: { run: RunId; events: number; head: string }[] = [];
  for await (const entry of eachOf((page) => store.index.list(page))) {
    const { run } = entry;
    runs.push({ run, ...(await headOf(store.journal, entry)) });
  }
  const removed: typeof runs = [];
  for await (const { run, events, hash } of eachOf((page) => store.index.tombstones(page)))
    // A tenant sees its own removed runs only.
    if ((await store.index.removed(run)) !== null) removed.push({ run, events, head: hash });
  return {
    format: HEADS_FILE,
    store: store.id,
    at,
    runs: [...runs, ...removed].toSorted((a, b) => (a.run < b.run ? -1 : 1)),
  };
}

async function headOf(journal: Journal, entry: RunEntry): Promise<{ readonly events: number; readonly head: string }> {
  const { run } = entry;
  try {
    const { ok, events, head, broken } = await audit(journal, run, entry);
    if (ok) return { events, head };
    throw chainBroken(run, broken?.message ?? '');
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'journal-key' || journal.end === undefined) throw error;
    const wrong = (await journal.broken?.(run)) ?? null;
    const end = await journal.end(run);
    if (wrong !== null || end === null) throw chainBroken(run, wrong ?? 'it has no end');
    return end;
  }
}

function chainBroken(run: RunId, why: string): SluiceError {
  return new SluiceError('chain-broken', `run \`${run}\`: ${why}`, 'Run `sluice audit verify`.');
}

export function readHeadsFile(text: string): HeadsFile | null {
  const read = parsed(text);
  return read?.['format'] === HEADS_FILE ? (read as unknown as HeadsFile) : null;
}

/** Runs that are missing or changed since the heads were written. Events added later are not a difference. */
export async function compareHeads(store: Store, { store: id, runs }: HeadsFile): Promise<readonly string[]> {
  if (store.id !== id) return ['the heads were written from another database'];
  const found: string[] = [];
  for (const { run, events, head } of runs) {
    const tombstone = await store.index.removed(run);
    const stored = await store.journal.load(run, { snapshot: false });
    const last = stored?.appends.at(-1);
    const length = last === undefined ? 0 : last.after + last.count;
    if (tombstone !== null) {
      if (tombstone.events < events || (tombstone.events === events && tombstone.hash !== head))
        found.push(`run \`${run}\`: its tombstone differs from the heads`);
    } else if (stored === null) found.push(`run \`${run}\` is missing; the heads have it with ${events} events`);
    else if (length < events) found.push(`run \`${run}\` has ${length} events; the heads have ${events}`);
    else if (stored.appends.find(({ after, count }) => after + count === events)?.hash !== head)
      found.push(`run \`${run}\`: event ${events} differs from the heads`);
  }
  return found;
}

function parsed(text: string): { readonly [field: string]: unknown } | null {
  const value = jsonOr(text, null);
  return isRecord(value) ? value : null;
}
