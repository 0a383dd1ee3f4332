/** Verifies the hash chain of a run (L11) and names the event where it breaks. Replay refuses a broken chain. */
import { evolve } from '@sluice-internal/kernel/core';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Program } from '@sluice-internal/kernel/core';
import type { Answer, Event, RunId, RunState } from '@sluice-internal/kernel/ir';
import { brokenEntry, brokenSnapshot } from '../journal/audit-entry.ts';
import type { Broken, Folded } from '../journal/audit-entry.ts';
import { genesis, link } from '../journal/chain.ts';
import { damagedFact, decodeEvents, readableEvents, snapshotHashIn } from '../journal/codec.ts';
import type { Journal, RunEntry, StoredAppend, StoredRun } from '../ports/ports.ts';
import { forgedIn } from '../ports/identity.ts';
import { inFork } from '../journal/fork-events.ts';
import { firstDifference, redecide, retrace } from './replay.ts';
import type { Difference } from './replay.ts';
import { SluiceError } from '../ports/errors.ts';
import { storedPrint, storedProgram } from '../journal/stored-graph.ts';
import { changedBlob, createShelf } from '../journal/values.ts';

export interface Audit {
  readonly run: RunId;
  readonly ok: boolean;
  readonly events: number;
  readonly head: string;
  /** The place where the chain breaks. */
  readonly broken: Broken | null;
}
export interface Replay {
  readonly run: RunId;
  readonly agrees: boolean;
  readonly events: number;
  readonly difference: Difference | null;
  /** Of a fork: its first events were compared with those of its parent, which were decided again as well. */
  readonly parent?: { readonly run: RunId; readonly seq: number; readonly checked: boolean };
}

/**
 * Missing events at the end break no link, so the entry in the index is needed to find them.
 * @example
 * const store = openMemory();
 * const checked = await audit(store.journal, 'r_1');
 */
export async function audit(journal: Journal, run: RunId, entry: RunEntry | null = null): Promise<Audit> {
  return (await auditRun(journal, run, entry)).audit;
}

export interface AuditedRun {
  readonly audit: Audit;
  readonly stored: StoredRun;
  /** Null if the events cannot be read. */
  readonly state: RunState | null;
}

/** As `audit`, with the run that was loaded for it: a long run is not loaded again. `servers`: the keys of servers that count. */
export async function auditRun(
  journal: Journal,
  run: RunId,
  entry: RunEntry | null = null,
  servers: readonly string[] = [],
): Promise<AuditedRun> {
  const stored = await load(journal, run);
  const changed = brokenBlob(stored);
  const folded =
    changed === null ? foldChain(run, stored, servers) : { broken: changed, state: null, ending: undefined };
  const broken = folded.broken ?? (await brokenBeside(journal, run, stored, entry, folded));
  const last = stored.appends[stored.appends.length - 1];
  const events = last === undefined ? 0 : last.after + last.count;
  return { audit: { run, ok: broken === null, events, head: last?.hash ?? '', broken }, stored, state: folded.state };
}

/** The snapshot, the entry in the index, and what the store recorded of the run. */
async function brokenBeside(
  journal: Journal,
  run: RunId,
  stored: StoredRun,
  entry: RunEntry | null,
  folded: Folded,
): Promise<Audit['broken']> {
  const isCovered = stored.appends.some(({ body }) => snapshotHashIn(body) !== null);
  const { snapshot = null } = isCovered ? ((await journal.load(run)) ?? {}) : {};
  const listed =
    brokenSnapshot(snapshot, stored.appends) ?? (entry === null ? null : brokenEntry(stored, entry, folded));
  return listed ?? (await brokenRecord(journal, run, stored));
}

async function brokenRecord(journal: Journal, run: RunId, { appends }: StoredRun): Promise<Audit['broken']> {
  const found = (await journal.broken?.(run)) ?? null;
  const last = appends.at(-1);
  const seq = last === undefined ? 0 : last.after + last.count;
  return found === null ? null : { seq, last: seq, message: `run \`${run}\`: ${found}` };
}

/**
 * Folds and decides again from the journal, without any model or tool call.
 * @example
 * const store = openMemory();
 * const { difference } = await replay(store.journal, 'r_1');
 */
export async function replay(journal: Journal, run: RunId, entry: RunEntry | null = null): Promise<Replay> {
  const { audit: checked, stored } = await auditRun(journal, run, entry);
  if (checked.broken !== null)
    throw new SluiceError(
      'chain-broken',
      `run \`${run}\` cannot be replayed: ${checked.broken.message}`,
      'Run `sluice audit verify`.',
    );
  const program = storedProgram(stored.flow);
  const turns = turnsOf(program, stored);
  const inherited = await inheritedPart(journal, run, turns);
  const difference = inherited.difference ?? ownDifference(program, turns);
  const { parent } = inherited;
  return {
    run,
    agrees: difference === null,
    events: checked.events,
    difference,
    ...(parent === undefined ? {} : { parent }),
  };
}

function ownDifference(program: Program, turns: readonly (readonly Event[])[]): Difference | null {
  let state: RunState | null = null;
  for (const events of turns) {
    if (isCopied(state, events)) {
      for (const event of events) state = evolve(state, event);
      continue;
    }
    const redecided = redecide(program, state, events);
    if (redecided.difference !== null) return redecided.difference;
    state = redecided.state;
  }
  return null;
}

/**
 * The first events of a fork were decided in its parent, under the graph of the parent. So the parent is replayed, and the
 * copied events are compared with its own. A parent that retention has removed cannot be checked.
 */
async function inheritedPart(
  journal: Journal,
  run: RunId,
  turns: readonly (readonly Event[])[],
): Promise<Pick<Replay, 'parent'> & { readonly difference: Difference | null }> {
  const started = turns[0]?.[0];
  const link = started?.type === 'run.started' ? started.origin.parent : undefined;
  if (started?.type !== 'run.started' || link === undefined) return { difference: null };
  const parent = { run: link.run, seq: link.seq };
  const stored = await journal.load(link.run, { snapshot: false });
  if (stored === null) return { parent: { ...parent, checked: false }, difference: null };
  const { difference } = await replay(journal, link.run);
  const isInherited = difference !== null && difference.seq <= link.seq;
  const copied = turns.flat().filter(({ seq }) => seq <= link.seq);
  const events = turnsOf(storedProgram(stored.flow), stored).flat();
  const renamed = events.map((event) => inFork(event, link.run, { ...started, run }));
  return {
    parent: { ...parent, checked: true },
    difference: isInherited ? difference : firstDifference(copied, renamed.slice(0, link.seq)),
  };
}

/** The events of each append. */
export function turnsOf(program: Program, { appends, blobs }: StoredRun): readonly (readonly Event[])[] {
  const { unpack } = createShelf(blobs);
  return appends.map((append) => decodeEvents(program, append, unpack));
}

/** The first events of a fork were decided in its parent, which another graph may have had. */
function isCopied(state: RunState | null, [first]: readonly Event[]): boolean {
  const { parent } = state?.origin ?? (first?.type === 'run.started' ? first.origin : {});
  return parent !== undefined && first !== undefined && first.seq <= parent.seq;
}

async function load(journal: Journal, run: RunId): Promise<StoredRun> {
  const stored = await journal.load(run, { snapshot: false });
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List the runs with `sluice runs`.');
  return stored;
}

function brokenBlob(stored: StoredRun): Audit['broken'] {
  const blob = changedBlob(stored.blobs);
  if (blob === undefined) return null;
  const user = stored.appends.find(({ body }) => body.includes(blob.hash));
  const seq = (user?.after ?? 0) + 1;
  return { seq, last: seq, message: `event ${seq}: the value ${blob.hash} that it refers to was changed` };
}

/** Verifies the links and folds the events, one append at a time, so that a long run needs little memory. */
function foldChain(run: RunId, stored: StoredRun, servers: readonly string[]): Folded & Pick<Audit, 'broken'> {
  const { unpack } = createShelf(stored.blobs);
  let head = genesis(run, storedPrint(stored.flow));
  let seq = 0;
  let state: RunState | null = null;
  let ending: Event | undefined;
  for (const [index, append] of stored.appends.entries()) {
    const { after, count, at, body, hash } = append;
    const fail = (broken: Audit['broken']) => ({ broken, state, ending });
    if (after !== seq) {
      const message = `event ${seq + 1} is missing; the journal continues at event ${after + 1}`;
      return fail({ seq: seq + 1, last: after, message });
    }
    if (link(head, after, at, body) !== hash) return fail(locate(run, stored, index));
    head = hash;
    seq = after + count;
    try {
      // Only after the first link is verified is the graph known to be unchanged.
      const program = storedProgram(stored.flow);
      const events = decodeEvents(program, append, unpack);
      // The hash covers neither the number of events nor the values that they refer to.
      const message = `event ${after + 1}: the append declares ${count} events but has ${events.length}`;
      if (events.length !== count) return fail({ seq: after + 1, last: after + events.length, message });
      for (const event of events) {
        const forged = forgedAnswer(program, state, event, servers);
        if (forged !== null) return fail({ seq: event.seq, last: event.seq, message: `event ${event.seq}: ${forged}` });
        state = evolve(state, event);
      }
      ending = events.at(-1);
    } catch (error) {
      return fail({ seq: after + 1, last: seq, message: `event ${after + 1}: ${(error as Error).message}` });
    }
  }
  return { broken: null, state, ending };
}

/** The signatures of a fork's first events name its parent, where they are checked. */
function forgedAnswer(
  { flow }: Program,
  state: RunState | null,
  event: Event,
  servers: readonly string[],
): string | null {
  if (state === null || event.seq <= (state.origin.parent?.seq ?? 0)) return null;
  if (event.type !== 'answer.counted' && event.type !== 'effect.settled') return null;
  const pending = state.pending.get(event.key);
  if (pending === undefined || pending.question === null) return null;
  if (event.type === 'answer.counted') return forgedIn(flow, state, pending, event.answer, servers);
  const { result } = event;
  return result.ok && isRecord(result.value)
    ? forgedIn(flow, state, pending, result.value as unknown as Answer, servers)
    : null;
}

/** Finds the changed event of an append: the first that a replay disagrees with. */
function locate(run: RunId, stored: StoredRun, index: number): NonNullable<Audit['broken']> {
  const append = stored.appends[index] as StoredAppend;
  const last = append.after + append.count;
  const range = append.count === 1 ? '' : ` (events ${append.after + 1} to ${last} were stored together)`;
  let program: Program | null = null;
  try {
    program = storedProgram(stored.flow);
    const decoded = turnsOf(program, { ...stored, appends: stored.appends.slice(0, index + 1) });
    let state: RunState | null = null;
    for (const events of decoded.slice(0, index)) ({ state } = retrace(program, state, events));
    const suspects = decoded[index] as readonly Event[];
    const fact = damagedFact(program, append.body, suspects, createShelf(stored.blobs).pack);
    const seq = fact?.seq ?? redecide(program, state, suspects).difference?.seq ?? append.after + 1;
    if (index === 0 && fact === null && seq === 1)
      return {
        seq,
        last,
        message: `event 1 (run.started) of run ${run} was changed, or the stored graph was`,
      };
    const type = suspects.find((event) => event.seq === seq)?.type ?? 'event';
    return { seq, last, message: `event ${seq} (${type}) of run ${run} was changed${range}` };
  } catch {
    const seq =
      append.after + 1 + (program === null ? 0 : Math.min(readableEvents(program, append.body), append.count - 1));
    return { seq, last, message: `event ${seq} of run ${run} is unreadable${range}` };
  }
}
