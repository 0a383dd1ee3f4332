/**
 * The part that failed in a run that did not end with SUCCESS. The failures of each thread are followed from their event to the end
 * of the run, and the first one that led there decides. Errors of tools, models and people are never counted against an agent.
 */
import type { Program } from '@sluice-internal/kernel/core';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { inherited } from '@sluice-internal/kernel/ir';
import type { Event, FailedPart, RunState, ThreadId } from '@sluice-internal/kernel/ir';
import { nameAt } from './authored.ts';
import { InputLog } from './calls.ts';
import type { RunCall } from './calls.ts';
import { NO_ERROR, partOf, type Told, type Trouble } from './failed-part.ts';

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

const ROOT: ThreadId = '0';

export function failureOf(program: Program, events: readonly Event[]): FailedPart | null {
  const log = new InputLog(program, () => false);
  const tracer = new FailureTracer(program, log);
  for (const event of events) {
    log.take(event);
    tracer.take(event);
  }
  return tracer.failure();
}

/** Takes the events of a run in order. The log has taken each of them before. */
export class FailureTracer {
  readonly #program: Program;
  readonly #log: InputLog;
  /** The failure that a thread has not recovered from, as far as it is known. */
  readonly #open = new Map<ThreadId, Trouble>();
  /** The last call of each thread that has a result. */
  readonly #last = new Map<ThreadId, RunCall>();
  /** Agents that replied last, by thread. A verifier is not the author of an answer. */
  readonly #agents = new Map<ThreadId, string>();
  readonly #forks = new Map<ThreadId, string>();
  readonly #missing = new Map<string, Of<'value.missing'>['paths']>();
  readonly #ended = new Set<ThreadId>();
  /** Failures that the run went on without. */
  readonly #lost: Trouble[] = [];
  /** A budget that the graph itself reacts to. */
  #noted: Of<'meter.tripped'> | null = null;
  #halt: Trouble | null = null;
  #end: Of<'run.ended'> | null = null;

  constructor(program: Program, log: InputLog) {
    this.#program = program;
    this.#log = log;
  }

  take(event: Event): void {
    switch (event.type) {
      case 'effect.judged':
        return this.#judged(event);
      case 'expression.failed':
        return this.#failed(event);
      case 'value.missing':
        return void this.#missing.set(`${event.thread} ${event.node}`, event.paths);
      case 'meter.tripped':
        return this.#tripped(event);
      case 'slots.written':
        return this.#written(event);
      case 'call.judged':
        return this.#controlled(event);
      case 'thread.forked':
        return void this.#forks.set(event.thread, `${event.key.replace('#', ':')}.`);
      case 'fork.joined':
        return this.#joined(event);
      case 'thread.ended':
        if (event.state === 'failed') this.#ended.add(event.thread);
        else this.#open.delete(event.thread);
        return;
      case 'run.halted':
        this.#halt = { is: 'halt', seq: event.seq, thread: ROOT, error: NO_ERROR, halt: event };
        return;
      case 'budget.granted':
        return this.#reopened();
      case 'run.ended':
        this.#end = event;
    }
  }

  failure(): FailedPart | null {
    const end = this.#end;
    if (end === null || end.code === 'SUCCESS') return null;
    const trouble = this.#decisive(end);
    return partOf(this.#told(trouble, end), trouble);
  }

  #judged(event: Of<'effect.judged'>): void {
    const call = this.#log.calls.get(event.key);
    if (call === undefined || event.verdict === 'retry') return;
    const { thread } = call;
    if (call.kind === 'undo') {
      if (event.verdict === 'failed')
        this.#open.set(ROOT, { is: 'call', seq: event.seq, thread, error: event.error, call });
      return;
    }
    if (event.verdict === 'failed') {
      this.#open.set(thread, { is: 'call', seq: event.seq, thread, error: event.error, call });
      return;
    }
    this.#last.set(thread, call);
    if (call.kind === 'model' && !this.#isVerifier(call)) this.#agents.set(thread, call.name);
  }

  /** A branch hands its last agent on, as in a step that is one attempt. */
  #joined(event: Of<'fork.joined'>): void {
    const { thread, seq } = event;
    const prefix = this.#forks.get(thread) ?? ' ';
    const branches = [...new Set([this.#open, this.#agents, this.#last].flatMap((map) => [...map.keys()]))].filter(
      (id) => isChild(id, prefix),
    );
    const failed = branches.flatMap((id) => {
      const trouble = this.#open.get(id);
      return trouble !== undefined && this.#ended.has(id) ? [trouble] : [];
    });
    const agent = branches.map((id) => this.#agents.get(id)).findLast((each) => each !== undefined);
    if (agent !== undefined) this.#agents.set(thread, agent);
    const last = branches.flatMap((id) => this.#last.get(id) ?? []).toSorted((a, b) => endOf(b) - endOf(a))[0];
    if (last !== undefined) this.#last.set(thread, last);
    for (const id of branches) for (const map of [this.#open, this.#last, this.#agents]) map.delete(id);
    const { error = NO_ERROR } = event;
    const [first] = failed.toSorted((a, b) => a.seq - b.seq);
    const same = failed.find((each) => each.error.type === error.type) ?? first;
    if (first !== undefined) this.#lost.push(first);
    if (event.why === 'late')
      this.#open.set(thread, { is: 'join', seq, thread, error, waited: this.#openCalls(prefix) });
    else if (event.error !== undefined || !event.met)
      this.#open.set(thread, same ?? { is: 'join', seq, thread, error, waited: [] });
  }

  #written(event: Of<'slots.written'>): void {
    if (!event.writes.some(({ slot }) => slot === 'error')) return;
    const { thread, seq, node } = event;
    const error = this.#log.state?.threads.get(thread)?.slots['error'] ?? null;
    if (!isError(error)) return;
    const before = this.#open.get(thread);
    const last = this.#last.get(thread) ?? null;
    const trip = error.class === 'budget' ? this.#noted : null;
    if (trip !== null) this.#open.set(thread, { is: 'limit', seq: trip.seq, thread, error, trip });
    // No call since: the failure is put in other words.
    else if (before !== undefined && (before.error.type === error.type || endOf(last) < before.seq))
      this.#open.set(thread, { ...before, error });
    else this.#open.set(thread, { is: 'written', seq, thread, error, node, last });
  }

  /** The controls of a call ended it with an error. */
  #controlled(event: Of<'call.judged'>): void {
    if (!('error' in event)) return;
    const { thread, seq, error, controls, of } = event;
    const [control = ''] = controls.findLast(([, verdict]) => verdict !== 'pass') ?? [];
    const asked = of === undefined ? undefined : this.#log.calls.get(of);
    this.#open.set(thread, { is: 'control', seq, thread, error, control, asked: asked?.kind === 'ask' ? asked : null });
  }

  #tripped(event: Of<'meter.tripped'>): void {
    if (event.noted === true) {
      this.#noted = event;
      return;
    }
    this.#open.set(event.thread, {
      is: 'limit',
      seq: event.seq,
      thread: event.thread,
      error: event.error ?? NO_ERROR,
      trip: event,
    });
  }

  #failed({ thread, seq, error, node }: Of<'expression.failed'>): void {
    this.#open.set(thread, {
      is: 'expression',
      seq,
      thread,
      error,
      node,
      missing: this.#missing.get(`${thread} ${node}`) ?? [],
    });
  }

  /** More budget reopens the run. */
  #reopened(): void {
    this.#open.clear();
    this.#halt = null;
    this.#end = null;
  }

  #decisive(end: Of<'run.ended'>): Trouble {
    const open = this.#open.get(ROOT);
    const last = this.#last.get(ROOT) ?? null;
    const written: Trouble = { is: 'end', seq: end.seq, thread: ROOT, error: NO_ERROR, end, last };
    if (this.#halt !== null && end.code !== 'REVIEW_REQUIRED') return this.#halt;
    if (end.state === 'completed') return this.#shortOf(end, written);
    // A call that succeeded since has led to the end.
    const isPast = this.#log.state?.outcome?.error === null && open?.is !== 'limit' && endOf(last) > (open?.seq ?? 0);
    return open === undefined || isPast ? written : open;
  }

  /** The run gave a result that is no success. */
  #shortOf(end: Of<'run.ended'>, written: Trouble): Trouble {
    if (end.code === 'UNVERIFIED') {
      const open = this.#open.get(ROOT);
      const isOfVerifier = open !== undefined && this.#verifies(open);
      return isOfVerifier ? open : written;
    }
    return this.#lost[0] ?? this.#open.get(ROOT) ?? written;
  }

  #verifies(trouble: Trouble): boolean {
    if (trouble.is === 'call') return this.#isVerifier(trouble.call);
    return trouble.is === 'limit' && isVerifierNode(this.#program, trouble.trip.node);
  }

  #isVerifier(call: RunCall): boolean {
    return isVerifierNode(this.#program, call.id);
  }

  #openCalls(prefix: string): readonly RunCall[] {
    return [...this.#log.calls.values()].filter(
      ({ thread, verdict, kind }) => thread.startsWith(prefix) && verdict === null && kind !== 'undo',
    );
  }

  #told({ is, thread }: Trouble, end: Of<'run.ended'>): Told {
    const { flow } = this.#program;
    const state = this.#log.state as RunState;
    const calls = [...this.#log.calls.values()];
    const agentOf = (each: ThreadId): string | null =>
      (is === 'halt' ? null : inherited(this.#agents, each)) ??
      calls.findLast((call) => call.kind === 'model' && !this.#isVerifier(call))?.name ??
      null;
    return { flow, state, calls, code: end.code, agent: agentOf(thread), last: nameAtEnd(this.#program, calls) };
  }
}

function endOf(call: RunCall | null): number {
  return call?.verdict?.seq ?? 0;
}

function isChild(id: ThreadId, prefix: string): boolean {
  return id.startsWith(prefix) && !id.slice(prefix.length).includes(':');
}

function isError(
  error: Json | undefined,
): error is Json & { readonly class: string; readonly type: string; readonly message: string; readonly node: string } {
  return isRecord(error) && typeof error['type'] === 'string' && typeof error['message'] === 'string';
}

/** The input of a verifier's call is marked. */
function isVerifierNode({ flow }: Program, id: string): boolean {
  const node = flow.nodes[id];
  return node?.op === 'do' && node.effect.kind === 'model' && node.effect.input['verdict'] !== undefined;
}

/** The authored node that was worked on last. */
function nameAtEnd({ flow }: Program, calls: readonly RunCall[]): string {
  const last = calls.findLast(({ kind }) => kind !== 'undo');
  return last === undefined ? nameAt(flow, flow.entry) : last.node;
}
