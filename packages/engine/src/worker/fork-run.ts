/**
 * Forks a run: a new run with the events of its parent up to one of them, which then continues on its own. The effects before that
 * event are in the copied events and are not made again. Later ones are new, and have new idempotency keys.
 */
import { evolve, settle } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Event, Fact, Origin, Parent, RunId, RunState, SlotEdit } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { auditRun, turnsOf } from '../audit/audit.ts';
import { genesis, linkEvents } from '../journal/chain.ts';
import { inFork } from '../journal/fork-events.ts';
import { retrace } from '../audit/replay.ts';
import { copyState } from '../journal/snapshot.ts';
import { storedPrint, storedProgram } from '../journal/stored-graph.ts';
import type { Append, StoredRun } from '../ports/ports.ts';
import { spentIn } from '../limits/quotas.ts';
import { errorOf } from './deliver.ts';
import { editsOf } from './fork-edits.ts';
import { refuseApproved } from './fork-approved.ts';
import { refuseSeen } from './fork-seen.ts';
import { unknownRun } from './host.ts';
import type { Host } from './host.ts';
import { newRun, programOf } from './owned-run.ts';
import type { OwnedRun } from './owned-run.ts';
import { checkRunId, newRunId } from '../ports/run-id.ts';
import { ownOrigin, takenId, unusable } from './start.ts';
import { appendEvents, firstOf } from './advance.ts';
import type { ForkOptions } from '../ports/types.ts';

export async function forkRun(host: Host, parent: RunId, options: ForkOptions): Promise<RunId> {
  const { run = newRunId(), by = 'fork', at, agents } = options;
  const { worker, clock } = host;
  await host.ensureOpen();
  checkRunId(run);
  const past = await readPast(host, parent, at);
  // A fork that a script continues is a rehearsal, also of a real run.
  const scripted = host.performer.answer === undefined ? {} : ({ scripted: true } as const);
  const owned = copy(host, past, run, { ...options, origin: { ...options.origin, ...scripted } });
  await checkKey(host, owned);
  const edits = await editsFor(host, past, owned, options);
  refuseSeen(past.program, past.turns.flat(), past.state, edits);
  if (host.performer.answer === undefined) refuseApproved(past.program, past.turns.flat(), past.state);
  const fork: Fact = { type: 'fork', by, edits, ...present({ agents }) };
  const facts: Fact[] = [fork, ...answerFacts(owned, options, by)];
  refuseEarly(owned, facts, clock.now());
  const state = owned.state as RunState;
  await refuseTaken(host, run, state);
  const isReserved = await host.quotas.start({
    run,
    flow: owned.program.flow,
    origin: state.origin,
    spent: spentIn(state),
  });
  try {
    await options.beforeStart?.();
    worker.runs.set(run, owned);
    await Promise.all(facts.map((fact) => host.send(owned, fact)));
  } catch (error) {
    if (worker.runs.get(run) === owned) worker.runs.delete(run);
    if (isReserved) await host.quotas.undo(run, state.origin);
    if (error instanceof SluiceError && error.code === 'lease-lost')
      throw await takenId(host, run, state.origin.tenant);
    throw error;
  }
  return run;
}

export interface PastRun {
  readonly run: RunId;
  readonly program: Program;
  /** The events up to the fork, as they were stored together. */
  readonly turns: readonly (readonly Event[])[];
  readonly link: Parent;
  readonly state: RunState;
  /** Later events of the parent. */
  readonly rest: readonly Event[];
}

/** Throws if the chain of the run is broken, if it has no such event, or if this engine must not continue the run. */
export async function readPast({ store, checkOrigin }: Host, run: RunId, at: number): Promise<PastRun> {
  const entry = await store.index.find(run);
  if (entry === null) throw unknownRun(run);
  const { audit: checked, stored } = await auditRun(store.journal, run, entry);
  const { broken, events: last } = checked;
  if (broken !== null)
    throw new SluiceError(
      'chain-broken',
      `run \`${run}\` cannot be forked: ${broken.message}`,
      'Run `sluice audit verify`.',
    );
  if (!Number.isSafeInteger(at) || at < 1 || at > last)
    throw new SluiceError('bad-fork', `run \`${run}\` has no event ${at}`, `It has the events 1 to ${last}.`);
  const program = storedProgram(stored.flow);
  const turns = turnsOf(program, stored);
  const seq = stepEnd(program, turns, at);
  const past = cut(run, turns, seq);
  checkOrigin(run, past.state.origin);
  return { run, program, ...past, link: { run, seq, hash: hashAt(run, stored, turns, seq) } };
}

function hashAt(run: RunId, { flow, appends }: StoredRun, turns: readonly (readonly Event[])[], at: number): string {
  const index = appends.findIndex(({ after, count }) => after < at && at <= after + count);
  const previous = appends[index - 1]?.hash ?? genesis(run, storedPrint(flow));
  const linked = linkEvents(previous, turns[index] ?? [], appends[index]?.hash ?? '');
  return linked.find(({ seq }) => seq === at)?.hash ?? '';
}

/** The last event of the step that the event belongs to. The events of a step follow from its first one. */
function stepEnd(program: Program, turns: readonly (readonly Event[])[], at: number): number {
  let state: RunState | null = null;
  for (const turn of turns) {
    const traced = retrace(program, state, turn);
    state = traced.state;
    const end = traced.stops.find((stop) => stop >= at);
    if (end !== undefined) return end;
  }
  return at;
}

function cut(run: RunId, turns: readonly (readonly Event[])[], at: number): Pick<PastRun, 'turns' | 'state' | 'rest'> {
  const kept = turns.map((turn) => turn.filter(({ seq }) => seq <= at)).filter(({ length }) => length > 0);
  let reached: RunState | null = null;
  for (const event of kept.flat()) reached = evolve(reached, event);
  if (reached === null || reached.seq !== at)
    throw new SluiceError('bad-fork', `run \`${run}\` cannot be read up to event ${at}`, 'Fork at an earlier event.');
  refuseEnd(run, reached);
  return { turns: kept, state: reached, rest: turns.flat().filter(({ seq }) => seq > at) };
}

function refuseEnd(run: RunId, { seq, outcome, threads }: RunState): void {
  // A fork never undoes effects of its parent, so it cannot begin in the middle of an undo.
  const isUndoing = [...threads.values()].some(({ doing }) => doing.is === 'unwinding');
  if (outcome === null && !isUndoing) return;
  const stops = threads.get('0')?.doing.is === 'unwinding' ? 'is already stopping' : 'is undoing calls';
  const what = outcome === null ? stops : `has ended with ${outcome.code}`;
  throw new SluiceError('bad-fork', `run \`${run}\` ${what} at event ${seq}`, 'Fork at an earlier event.');
}

/** The new run with the copied events folded and ready to be stored. */
export function copy(host: Host, past: PastRun, run: RunId, { flow, origin }: ForkOptions): OwnedRun {
  const program = flow === undefined ? past.program : programOf(flow);
  const owned = newRun(run, program);
  const { deadline: _, thread: __, pins, ...inherited } = past.state.origin;
  const own: Origin = {
    ...ownOrigin(host.store, { ...inherited, ...origin }),
    pins: { ...pins, ...origin?.pins, store: host.store.id, tokensOf: pins?.tokensOf ?? past.run },
    parent: past.link,
  };
  owned.prefix = past.turns.map((turn) => {
    const events = turn.map((event) => inFork(event, past.run, { run, flow: program.flow.hash, origin: own }));
    for (const event of events) owned.state = evolve(owned.state, event);
    return appendTo(owned, events);
  });
  return owned;
}

function appendTo(owned: OwnedRun, events: readonly Event[]): Append {
  const append = appendEvents(owned, events);
  if (append.after > 0) return append;
  const entry = { status: 'running', code: null, due: null } as const;
  return { ...append, ...firstOf(owned.program.flow, owned.state as RunState, entry, append.at) };
}

async function editsFor(
  { performer }: Host,
  { rest, turns }: PastRun,
  { program: { flow }, state, run }: OwnedRun,
  { set = {} }: ForkOptions,
): Promise<readonly SlotEdit[]> {
  if (state === null) return [];
  const events = turns.flat();
  const edits = editsOf({ flow, state, events, rest }, set);
  if (performer.protect === undefined || flow.pii === undefined || edits.length === 0) return edits;
  const { pins } = state.origin;
  const values = edits.map(({ value }) => value);
  const safe = (await performer.protect(flow, pins?.tokensOf ?? run, values, pins?.documentDir)) as Json[];
  return edits.map((edit, index) => ({ ...edit, value: safe[index] ?? null }));
}

function answerFacts({ state, program }: OwnedRun, { answers = {} }: ForkOptions, by: string): readonly Fact[] {
  const open = [...(state?.pending.values() ?? [])].flatMap(({ question, node }) => {
    const label = program.flow.nodes[node]?.label;
    return question === null ? [] : [{ id: question.id, node: label?.authored ?? label?.name ?? node }];
  });
  return Object.entries(answers).map(([name, answer]) => {
    const found = open.find(({ id, node }) => id === name || node === name || node.endsWith(`/${name}`));
    // A fork proves no identity, so it cannot answer for people of the flow.
    const { choice, text, edit, payload } = answer;
    const given = { choice, by, ...present({ text, edit, payload }) };
    if (found !== undefined) return { type: 'answer', id: found.id, answer: given };
    const others = open.map(({ node }) => `\`${node}\``).join(', ');
    throw new SluiceError(
      'approval-not-found',
      `the question \`${name}\` is not open at event ${state?.seq ?? 0}`,
      others === '' ? 'No question is open there. Fork at the event that asks it.' : `Open questions: ${others}.`,
    );
  });
}

/** Tries the facts on a copy of the state, so that nothing is stored if one is refused. */
export function refuseEarly({ program, state }: OwnedRun, facts: readonly Fact[], now: number): void {
  const trial = copyState(state as RunState);
  const [refusal] = settle(program, trial, facts, now).refusals.values();
  if (refusal !== undefined) throw errorOf(refusal);
}

/** The tokens of personal data are those of the parent. */
async function checkKey({ performer }: Host, { program, run, state }: OwnedRun): Promise<void> {
  const { pins } = state?.origin ?? {};
  await performer.checkKey?.(program.flow, pins?.tokensOf ?? run, pins?.documentDir);
}

async function refuseTaken(host: Host, run: RunId, { origin }: RunState): Promise<void> {
  const other = await host.store.index.find(run);
  if (other !== null && other.tenant !== (origin.tenant ?? null)) throw unusable(run);
  if (host.worker.runs.has(run) || other !== null) throw await takenId(host, run, origin.tenant);
}
