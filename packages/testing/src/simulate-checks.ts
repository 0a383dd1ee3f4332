/** Checks the laws for a simulated run after every turn, and for its journal at the end. Each finding names its law. */
import { isDeepStrictEqual } from 'node:util';
import { TERMINAL_CODES, hasEffects } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, RunId, RunState } from '@sluice-internal/kernel/ir';
import type { Program } from '@sluice-internal/kernel/core';
import { audit, replay } from '@sluice-internal/engine/audit';
import { callsIn, receiptsByCall } from '@sluice-internal/engine/report';
import { programOf, restoreRun } from '@sluice-internal/engine/worker';
import type { Journal, StoredRun } from '@sluice-internal/engine/ports';
import { freezeState } from '@sluice-internal/engine/journal';
import type { Performed } from './simulate-types.ts';

export function stateViolations(flow: CompiledFlow, state: RunState): string[] {
  const found: string[] = [];
  for (const [id, { max }] of Object.entries(flow.meters)) {
    const taken = (state.spent[id] ?? 0) + (state.reserved[id] ?? 0);
    const allowed = max === null ? Infinity : max + (state.raised?.[id] ?? 0);
    if (taken > allowed) found.push(`L4: ${taken} of meter \`${id}\` are spent or reserved, and it allows ${allowed}`);
  }
  return found;
}

/** The stored events must fold to `live`, the frozen state in memory, apart from `wake`, which is only a lower bound. */
export function foldViolation(run: RunId, stored: StoredRun, program: Program, live: string): string | null {
  const { state } = restoreRun(run, stored, program);
  const { wake: _a, ...folded } = JSON.parse(state === null ? '{}' : freezeState(state)) as RunState;
  const { wake: _b, ...kept } = JSON.parse(live) as RunState;
  if (folded.seq !== kept.seq) return null;
  return isDeepStrictEqual(folded, kept)
    ? null
    : `L2: at event ${kept.seq} the journal folds to another state than the one in memory`;
}

interface Simulated {
  readonly flow: CompiledFlow;
  readonly state: RunState;
  readonly events: readonly Event[];
  /** The world's own list of calls. */
  readonly performed: readonly Performed[];
}

export async function journalViolations(
  journal: Journal,
  run: RunId,
  { flow, state, events, performed }: Simulated,
): Promise<string[]> {
  const found = [
    ...endViolations(state, events),
    ...factViolations(events),
    ...remarkViolations(events),
    ...undoViolations(state, events),
    ...sentViolations(events, performed),
    ...receiptViolations(flow, events, performed),
    ...performViolations(performed),
    ...stateViolations(flow, state),
  ];
  const { broken } = await audit(journal, run);
  if (broken !== null) return [...found, `L11: ${broken.message}`];
  const { difference } = await replay(journal, run);
  return difference === null
    ? found
    : [
        ...found,
        `L2: decided again, event ${difference.seq} is ${JSON.stringify(difference.replay)}, not ${JSON.stringify(difference.journal)}`,
      ];
}

function endViolations({ outcome, pending, reserved }: RunState, events: readonly Event[]): string[] {
  const found: string[] = [];
  const ends = events.filter(({ type }) => type === 'run.ended');
  if (ends.length !== 1 || events.at(-1)?.type !== 'run.ended')
    found.push(`L5: ${ends.length} ends among ${events.length} events`);
  if (outcome === null || !TERMINAL_CODES.includes(outcome.code))
    found.push(`L6: ended without a code: ${JSON.stringify(outcome)}`);
  if (pending.size > 0) found.push(`L6: ended although ${[...pending.keys()].join(', ')} were pending`);
  if (Object.values(reserved).some((amount) => amount !== 0)) found.push('L4: ended with something still reserved');
  return found;
}

function factViolations(events: readonly Event[]): string[] {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const event of events) {
    if (event.type !== 'effect.settled') continue;
    const id = `${event.key} (attempt ${event.attempt})`;
    if (seen.has(id)) found.push(`L1: ${id} was settled twice`);
    seen.add(id);
  }
  return found;
}

/** A remark is heard once at most, and after it was made. */
function remarkViolations(events: readonly Event[]): string[] {
  const open = new Set<number>();
  const found: string[] = [];
  for (const event of events) {
    if (event.type === 'guidance.given') open.add(event.seq);
    if (event.type === 'guidance.heard' && !open.delete(event.of))
      found.push(`L14: event ${event.seq} hears a remark of event ${event.of}, which is not there or was heard before`);
  }
  return found;
}

function undoViolations(state: RunState, events: readonly Event[]): string[] {
  const found: string[] = [];
  const registered = new Map<string, number>();
  const ran = new Set<string>();
  const mayHaveRun = new Set<string>();
  const undone = new Set<string>();
  const latest = new Map<string, number>();
  const undo = (undoes: string, thread: string): void => {
    const order = registered.get(undoes);
    if (order === undefined) found.push(`L7: ${undoes} is undone, but nothing was registered for it`);
    if (undone.has(undoes)) found.push(`L7: ${undoes} is undone twice`);
    if (!ran.has(undoes) && !mayHaveRun.has(undoes)) found.push(`L7: ${undoes} is undone, but it never ran`);
    if (order !== undefined && order > (latest.get(thread) ?? Infinity))
      found.push(`L7: ${undoes} is undone after something that came before it`);
    if (order !== undefined) latest.set(thread, order);
    undone.add(undoes);
  };
  for (const event of events) {
    if (event.type === 'effect.requested' && event.undo !== undefined) registered.set(event.key, event.seq);
    if (event.type === 'effect.settled' && (event.result.ok || event.result.error.ran === true)) ran.add(event.key);
    if (isUncertain(event)) mayHaveRun.add(event.key);
    if (event.type === 'undo.requested') undo(event.undoes, event.thread);
  }
  // A completed run keeps its effects, apart from failed branches. REVIEW_REQUIRED may leave effects in place.
  if (state.outcome?.state === 'completed' || state.outcome?.code === 'REVIEW_REQUIRED') return found;
  const kept = [...registered.keys()].filter((key) => ran.has(key) && !undone.has(key));
  return [...found, ...kept.map((key) => `L7: ${key} ran and was not undone`)];
}

/** The world was really called before an undo, and what was not sent costs nothing. */
function sentViolations(events: readonly Event[], performed: readonly Performed[]): string[] {
  const sent = new Set(performed.map(({ key }) => key));
  const found = events.flatMap((event) =>
    event.type === 'undo.requested' && !sent.has(event.undoes)
      ? [`L7: ${event.undoes} is undone, but was never sent`]
      : [],
  );
  const dropped = events.flatMap((event) =>
    event.type === 'drop.answered' && event.sent === 'yes' ? [event.key] : [],
  );
  return [...found, ...dropped.filter((key) => !sent.has(key)).map((key) => `L7: the host said that ${key} was sent`)];
}

/** The receipts are the world's own list: each call that changed it has one, and each receipt has a call. */
function receiptViolations(flow: CompiledFlow, events: readonly Event[], performed: readonly Performed[]): string[] {
  const calls = callsIn(flow, events);
  const made = performed
    .filter(({ kind, name, took }) => kind === 'tool' && took && hasEffects(flow, name))
    .map(({ key }) => key);
  const sent = new Set(performed.map(({ key }) => key));
  const receipts = new Map(receiptsByCall(programOf(flow), events));
  const lookedUp = new Set(
    calls.filter(({ settles, key }) => settles !== null && settles !== key).map(({ key }) => key),
  );
  const undos = new Set(calls.filter(({ kind }) => kind === 'undo').map(({ key }) => key));
  const missing = made.filter((key) => !receipts.has(key) && !undos.has(key) && !lookedUp.has(key));
  const answered = new Set(performed.filter(({ took }) => took).map(({ key }) => key));
  // A call that was sent and dropped is undone even if it failed meanwhile, because the run does not wait for its result.
  const untrue = [...receipts].filter(([key, { status }]) => status === 'committed' && !answered.has(key));
  const unsent = [...receipts].filter(([key]) => !sent.has(key) && !mayBeUnknown(events, key));
  return [
    ...new Set(missing.map((key) => `L7: ${key} changed the world and has no receipt`)),
    ...untrue.map(([key, { status }]) => `L7: the receipt of ${key} is ${status}, and the world has no such call`),
    ...unsent.map(([key]) => `L7: ${key} has a receipt and was not sent`),
  ];
}

/** An earlier process may have sent it, as far as the host could know. */
function mayBeUnknown(events: readonly Event[], key: string): boolean {
  return events.some(
    (event) =>
      (event.type === 'drop.answered' && event.key === key && event.sent === 'unknown') ||
      (event.type === 'effect.settled' &&
        event.key === key &&
        !event.result.ok &&
        event.result.error.sent === 'unknown'),
  );
}

/** True for a call that was dropped or timed out: it may have run. */
function isUncertain(event: Event): event is Extract<Event, { type: 'drop.answered' | 'effect.settled' }> {
  if (event.type === 'drop.answered') return event.sent !== 'no';
  return event.type === 'effect.settled' && !event.result.ok && event.result.error.class === 'timeout';
}

/** An attempt is repeated only after a crash, and then with the same key and input. */
function performViolations(performed: readonly Performed[]): string[] {
  const found: string[] = [];
  const attempts = new Set<string>();
  const byKey = new Map<string, Performed>();
  const byIdempotencyKey = new Map<string, Performed>();
  for (const each of performed) {
    const { life, key, attempt, idempotencyKey, input } = each;
    const id = `${life} ${key} ${attempt}`;
    if (attempts.has(id)) found.push(`L8: ${key} (attempt ${attempt}) was performed twice in one life`);
    attempts.add(id);
    const before = byKey.get(key);
    if (before !== undefined && (before.idempotencyKey !== idempotencyKey || before.input !== input))
      found.push(`L8: ${key} was performed again with another key or input: ${before.input} and ${input}`);
    byKey.set(key, each);
    const other = byIdempotencyKey.get(idempotencyKey);
    if (other !== undefined && other.key !== key) found.push(`L8: ${key} and ${other.key} share an idempotency key`);
    byIdempotencyKey.set(idempotencyKey, each);
  }
  return found;
}
