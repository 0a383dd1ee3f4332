/** The report on a run, in the shape of the contract. Derived from the journal alone. */
import { BY_AUTHOR, SUSPENDING_CODES, shortfall } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, RunState, TerminalCode } from '@sluice-internal/kernel/ir';
import { escalationOfEnd } from '@sluice-internal/kernel/catalog';
import { authorOf, statusOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report, Wait, Waiting } from '../ports/types.ts';
import { movedTo } from '../journal/fork-events.ts';
import type { ReadRun } from '../journal/open-run.ts';
import { nameAt } from './authored.ts';
import { CallLog, callsIn } from './calls.ts';
import { decisionsOf } from '../ports/decisions.ts';
import { pathOf } from './entered.ts';
import { lossesOf } from './losses.ts';
import type { Losses } from './losses.ts';
import { receiptsOf } from './receipts.ts';
import { stepResults } from './step-results.ts';
import { usageOf } from './usage.ts';
import { waitingOf } from './waiting.ts';

export function reportOf({ program, state, events }: ReadRun): Report {
  const { parent } = state.origin;
  const waiting = waitingOf(program, state);
  const usage = usageOf(program.flow, state, events);
  const receipts = receiptsOf(program, events);
  return {
    run: state.run,
    flow: program.flow.id,
    hash: state.flow,
    ...(parent === undefined ? {} : { parent: { run: parent.run, seq: parent.seq } }),
    ...movedIn(events),
    state: statusOf(state),
    code: state.outcome?.code ?? suspendedCode(waiting, state),
    output: state.outcome?.output ?? null,
    path: pathOf(program, events),
    approvals: approvalsOf(program, events),
    ...(program.flow.view?.stepResults === true ? { results: stepResults(program.flow, events) } : {}),
    usage,
    ...grantedIn(events),
    ...(program.flow.tier === undefined ? {} : { costPerSuccessUsd: isSuccess(state) ? usage.costUsd : null }),
    decisions: decisionsOf(program.flow, events),
    waiting,
    waits: waitsOf(program, state),
    ...lacksOf(program, state, events),
    receipts,
    changed: receipts.some(({ effect, status }) => CHANGING.has(effect) && status !== 'compensated'),
    ...judgementOf(program.flow, state, events),
  };
}

/** What the run did not reach: its error, what it lost, and who takes it over. */
function lacksOf(
  program: Program,
  state: RunState,
  events: readonly Event[],
): Pick<Report, 'error' | 'losses' | 'escalation'> {
  const { outcome } = state;
  const lost = outcome === null || outcome.code === 'SUCCESS' ? null : lossesOf(program, events);
  const takenOver = outcome?.state === 'failed' ? takenOverBy(program.flow, outcome) : null;
  return {
    error: withBranches(errorOf(program, state, events), lost),
    ...(lost === null ? {} : { losses: lost.losses }),
    ...(takenOver === null ? {} : { escalation: takenOver }),
  };
}

/** The row of the escalation table for a failed run. A failure under the name of a model call is the provider's. */
function takenOverBy(
  { nodes }: Pick<CompiledFlow, 'nodes'>,
  { code, error }: NonNullable<RunState['outcome']>,
): Report['escalation'] | null {
  const ofModel = Object.values(nodes).some(
    (node) => node.op === 'do' && node.effect.kind === 'model' && authorOf(node) === error?.node,
  );
  return escalationOfEnd({ code, error, ofModel });
}

function grantedIn(events: readonly Event[]): Pick<Report, 'granted'> {
  const granted = events.flatMap((event) => {
    if (event.type !== 'budget.granted') return [];
    const { by, dimension, amount } = event;
    return [{ by, dimension, amount }];
  });
  return granted.length === 0 ? {} : { granted };
}

function movedIn(events: readonly Event[]): Pick<Report, 'movedTo'> {
  const to = movedTo(events);
  return to === null ? {} : { movedTo: to };
}

function isSuccess({ outcome }: RunState): boolean {
  return outcome?.code === 'SUCCESS' || outcome?.code === 'PARTIAL_SUCCESS';
}

/** The run ended with an answer and a reason why it is no success. */
function isOpen({ outcome }: RunState): boolean {
  return outcome?.code === 'PARTIAL_SUCCESS' || outcome?.code === 'UNVERIFIED';
}

/** The fields of a report that the flow keeps in slots of the main line; the view names the slots. */
function judgementOf(
  flow: CompiledFlow,
  state: RunState,
  events: readonly Event[],
): Pick<Report, 'rejected' | 'violations' | 'reason' | 'verdict'> {
  const { view } = flow;
  const slots = state.threads.get('0')?.slots ?? {};
  const read = (slot: string | undefined): Json => (slot === undefined ? null : (slots[slot] ?? null));
  const { rejected, violations, reason: why, verdict } = view?.judgement ?? {};
  const reason = isOpen(state) ? read(why) : null;
  return {
    rejected: (read(rejected) as Report['rejected']) ?? refusedReply(flow, state, events),
    violations: (read(violations) ?? []) as unknown as Report['violations'],
    ...(typeof reason === 'string' ? { reason } : {}),
    verdict: verdictOf(state, read(verdict)),
  };
}

/** The reply that ended the run: it did not fit its schema, or made a claim without an observation. */
function refusedReply(flow: CompiledFlow, { outcome }: RunState, events: readonly Event[]): Report['rejected'] {
  const error = outcome?.error;
  if (!error || !REFUSALS.has(error.type)) return null;
  const reply = callsIn(flow, events)
    .filter(({ kind, node }) => kind === 'model' && node === error.node)
    .flatMap(({ attempts }) => attempts)
    .findLast(({ ok }) => ok);
  const text = isRecord(reply?.value) ? reply.value['text'] : '';
  return typeof text === 'string' && text !== '' ? { text, reasons: [error.message] } : null;
}

const CHANGING: ReadonlySet<string> = new Set(['write', 'financial', 'communication', 'infrastructure']);

/** Who decided last that the answer is right. Where no verdict was given, the author's own ends decide. */
function verdictOf(state: RunState, given: Json): Report['verdict'] {
  if (isRecord(given) && typeof given['by'] === 'string') {
    const { by, ok, problem, scripted } = given as unknown as Report['verdict'];
    return { by, ok: ok ?? null, problem: problem ?? null, scripted: scripted === true };
  }
  const ok = isSuccess(state) ? true : state.outcome?.code === 'VALIDATION_FAIL' ? false : null;
  return { by: ok === null ? 'none' : BY_AUTHOR, ok, problem: null, scripted: false };
}

const REFUSALS: ReadonlySet<string> = new Set(['SchemaError', 'GroundingError']);

function waitsOf(program: Program, state: RunState): Wait[] {
  return [...state.pending.values()].flatMap((pending) => {
    const { kind, observed, signal = null, deadline } = pending;
    if (kind !== 'wait' || observed !== null) return [];
    const until = deadline === null ? null : new Date(deadline).toISOString();
    return [{ node: nameAt(program.flow, pending.node), signal, until }];
  });
}

/**
 * The choices of people, by node. A node that asked several times has its last choice. Approvals of an agent's tool calls are
 * listed by tool: the second is `name (2)`.
 */
function approvalsOf(program: Program, events: readonly Event[]): { [name: string]: string } {
  const approvals = new Map<string, string>();
  const log = new CallLog(program.flow);
  for (const event of events) {
    const call = log.take(event);
    if (event.type !== 'effect.settled' || !event.result.ok || call === undefined || call.question === null) continue;
    const value = event.result.value as { choice?: Json } | null;
    if (typeof value?.choice !== 'string') continue;
    const inTurn = program.flow.nodes[call.id]?.label.authored !== undefined;
    const name = inTurn ? call.name : call.node;
    let key = name;
    for (let count = 2; inTurn && approvals.has(key); count++) key = `${name} (${count})`;
    approvals.set(key, value.choice);
  }
  return Object.fromEntries(approvals);
}

function suspendedCode(waiting: readonly Waiting[], state: RunState): TerminalCode | null {
  const code = statusOf(state) === 'suspended' ? waiting[0]?.code : undefined;
  return code !== undefined && SUSPENDING_CODES.has(code) ? code : null;
}

function withBranches(error: Report['error'], lost: Losses | null): Report['error'] {
  const branches = error === null ? undefined : lost?.branches.get(error.message);
  return error === null || branches === undefined ? error : { ...error, branches };
}

/** The error of a failed run: the failure itself, or the limit that stopped it. */
function errorOf(program: Program, state: RunState, events: readonly Event[]): Report['error'] {
  if (state.outcome?.state !== 'failed') return null;
  const { code, error } = state.outcome;
  const reopened = events.findLastIndex(({ type }) => type === 'budget.granted');
  const stop = events.slice(reopened + 1).findLast(({ type }) => type === 'run.halted' || type === 'meter.tripped');
  if (stop?.type === 'run.halted' && stop.code !== 'TIMEOUT') return undoError(program, events);
  if (stop?.type === 'run.halted')
    return {
      class: 'timeout',
      type: 'TimeoutError',
      message: stop.why,
      node: pathOf(program, events).at(-1) ?? program.flow.id,
    };
  const limit = stop?.type === 'meter.tripped' ? limitError(program, stop, code) : null;
  if (limit !== null && limit.class !== error?.class) return limit;
  return error === null ? null : { class: error.class, type: error.type, message: error.message, node: error.node };
}

/** The failure of a compensation, which is the reason that a cancelled run has failed. */
function undoError(program: Program, events: readonly Event[]): Report['error'] {
  const judged = events.findLast((event) => event.type === 'effect.judged' && event.verdict === 'failed');
  if (judged?.type !== 'effect.judged' || judged.verdict !== 'failed') return null;
  const { class: kind, type, message, node } = judged.error;
  return { class: kind, type, message, node: nameAt(program.flow, node) };
}

/** The error of a run that ended because a limit was reached; null if it ended with another code. */
function limitError(
  program: Program,
  stop: Extract<Event, { type: 'meter.tripped' }>,
  code: TerminalCode,
): Report['error'] {
  const meter = program.flow.meters[stop.meter];
  const node = nameAt(program.flow, stop.node);
  if (meter?.unit === 'time' && code === 'TIMEOUT')
    return { class: 'timeout', type: 'TimeoutError', message: `${meter.label} is used up`, node };
  if (code !== 'BUDGET_EXHAUSTED') return null;
  const message = meter === undefined ? `${stop.meter} is used up` : shortfall(meter, stop);
  return { class: 'budget', type: 'BudgetError', message, node };
}
