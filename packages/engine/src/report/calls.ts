/**
 * The calls of a run, from their events: the request, each attempt and the verdict. Reports, receipts, public events and evaluations
 * read the calls here.
 */
import { evolve, inputOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  Amounts,
  CompiledFlow,
  EffectKey,
  EffectKind,
  ErrorRecord,
  Event,
  Failure,
  NodeId,
  Question,
  RunState,
  Sent,
  ThreadId,
} from '@sluice-internal/kernel/ir';
import { nameAt } from './authored.ts';

export interface Attempt {
  readonly seq: number;
  readonly at: number;
  /** The first attempt is 1. */
  readonly number: number;
  readonly ok: boolean;
  readonly value: Json;
  readonly error: Failure | null;
  readonly used: Amounts;
  /** A protection gave the result, and the call was not made. */
  readonly unsent: boolean;
}
export interface RunCall {
  readonly key: EffectKey;
  readonly kind: EffectKind | 'undo';
  /** The agent, tool or check; of a question, its subject. */
  readonly name: string;
  /** The authored node. Of a compensation, its tool. */
  readonly node: string;
  /** The node of the graph. */
  readonly id: NodeId;
  readonly thread: ThreadId;
  readonly seq: number;
  readonly at: number;
  readonly question: Question | null;
  readonly signal: string | null;
  /** Of a compensation: the call that it undoes. */
  readonly undoes: EffectKey | null;
  input: { readonly [field: string]: Json };
  readonly attempts: Attempt[];
  readonly retries: { readonly seq: number; readonly error: ErrorRecord }[];
  verdict: { readonly seq: number; readonly accepted: boolean; readonly error: ErrorRecord | null } | null;
  /** The event that closed the call without a result. */
  dropped: number | null;
  /** Why the run no longer waits for it. */
  why: Extract<Event, { readonly type: 'effect.dropped' }>['why'] | null;
  /** The host's answer to the drop. */
  sent: Sent | null;
  /** The call whose outcome this one finds out. */
  settles: EffectKey | null;
}

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

/** Takes the events of a run in order, from the first one. Inputs are not known here. */
export class CallLog {
  readonly calls = new Map<EffectKey, RunCall>();
  readonly #flow: CompiledFlow;

  constructor(flow: CompiledFlow) {
    this.#flow = flow;
  }

  #again(key: EffectKey): void {
    const call = this.calls.get(key);
    if (call !== undefined) call.settles = key;
  }

  /** The call that the event is about. */
  take(event: Event): RunCall | undefined {
    // A call that is made again to find out about it is the same call.
    const isAgain = event.type === 'effect.requested' && event.settles === event.key;
    if (isAgain) this.#again(event.key);
    if (!isAgain && (event.type === 'effect.requested' || event.type === 'undo.requested')) {
      const begun = begin(this.#flow, event);
      this.calls.set(event.key, begun);
      return begun;
    }
    if (event.type === 'call.judged') return this.#judged(event);
    const call = 'key' in event ? this.calls.get(event.key) : undefined;
    if (call !== undefined) record(call, event);
    return call;
  }

  #judged({ of, seq }: Of<'call.judged'>): RunCall | undefined {
    const call = of === undefined ? undefined : this.calls.get(of);
    if (call !== undefined) call.verdict = { seq, accepted: call.attempts.at(-1)?.ok === true, error: null };
    return call;
  }
}

function record(call: RunCall, event: Event): void {
  if (event.type === 'effect.settled') call.attempts.push(attemptOf(event));
  else if (event.type === 'effect.dropped') {
    call.why = event.why;
    if (event.why !== 'late') call.dropped ??= event.seq;
  } else if (event.type === 'drop.answered') call.sent = event.sent;
  else if (event.type === 'effect.judged' && event.verdict === 'retry')
    call.retries.push({ seq: event.seq, error: event.error });
  else if (event.type === 'effect.judged') {
    const error = event.verdict === 'failed' ? event.error : null;
    call.verdict = { seq: event.seq, accepted: event.verdict === 'accepted', error };
  }
}

/** The same with the state of the run after each event, and with the inputs of calls of the given kinds. */
export class InputLog extends CallLog {
  state: RunState | null = null;
  readonly program: Program;
  readonly #wants: (kind: RunCall['kind']) => boolean;

  constructor(program: Program, wants: (kind: RunCall['kind']) => boolean = () => true) {
    super(program.flow);
    this.program = program;
    this.#wants = wants;
  }

  override take(event: Event): RunCall | undefined {
    const state = (this.state = evolve(this.state, event));
    const call = super.take(event);
    const pending = call?.seq === event.seq && this.#wants(call.kind) ? state.pending.get(call.key) : undefined;
    if (call !== undefined && pending !== undefined) call.input = inputOf(this.program, state, pending);
    return call;
  }
}

/** The calls of a run in the order of their requests. */
export function callsIn(flow: CompiledFlow, events: Iterable<Event>): readonly RunCall[] {
  const log = new CallLog(flow);
  for (const event of events) log.take(event);
  return [...log.calls.values()];
}

function begin(flow: CompiledFlow, event: Of<'effect.requested' | 'undo.requested'>): RunCall {
  const { key, thread, seq, at } = event;
  const unsettled = { input: {}, attempts: [], retries: [], verdict: null, dropped: null, why: null, sent: null };
  const begun = { key, thread, seq, at, ...unsettled };
  if (event.type === 'undo.requested') {
    const { tool, undoes } = event;
    return {
      ...begun,
      kind: 'undo',
      name: tool,
      node: tool,
      id: '',
      question: null,
      signal: null,
      undoes,
      settles: null,
    };
  }
  const { kind, node: id, question = null, signal = null, settles = null } = event;
  const name = question?.about ?? event.name;
  return { ...begun, kind, name, node: nameAt(flow, id), id, question, signal, undoes: null, settles };
}

function attemptOf({ seq, at, attempt: number, result }: Of<'effect.settled'>): Attempt {
  const { ok, used = {} } = result;
  const [value, error] = result.ok ? [result.value, null] : [null, result.error];
  const unsent = result.ok ? result.unsent === true : result.error.unsent !== undefined || result.error.sent === 'no';
  return { seq, at, number, ok, value, error, used, unsent };
}
