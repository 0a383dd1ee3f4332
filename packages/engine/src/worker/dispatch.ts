/** Performs the calls that a run has requested, returns their results to it, and wakes it when a deadline is due. */
import { authorOf, nodeAt, statusOf } from '@sluice-internal/kernel/core';
import { hasEffects } from '@sluice-internal/kernel/ir';
import type { Command, EffectKey, Fact, Instant, RunState, Sent, Settled } from '@sluice-internal/kernel/ir';
import { failureOf } from '../ports/failures.ts';
import type { Call, Clock, MailFact, Performer } from '../ports/ports.ts';
import { NotStarted } from '../limits/guard.ts';
import type { Guard, Performed, Start } from '../limits/guard.ts';
import type { RunningCall, TextListeners } from './calls.ts';
import { attemptId, runNow } from './owned-run.ts';
import type { HostCommand } from './advance.ts';
import type { Message, OwnedRun } from './owned-run.ts';
import { holdsText, protectedFact } from './protected-fact.ts';
import { standIns } from './stand-ins.ts';

export interface DispatchOptions {
  readonly performer: Performer;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly listeners?: TextListeners | undefined;
  /** False when the lease may have ended, by the monotonic clock of this process. */
  readonly holdsLease: () => boolean;
  /** Renews a lease that has ended; false when another worker has taken over, or when it could not be renewed in time. */
  readonly renewLease: () => Promise<boolean>;
  readonly send: (owned: OwnedRun, message: Message) => void;
  /** Called when the run ends or waits, and no result is under way. */
  readonly rest: (owned: OwnedRun) => void;
}

/** The pause before a lease that could not be renewed is tried again. */
const RENEW_PAUSE_MS = 100;
/** The time that an aborted call with effects has to return. */
const DROP_GRACE_MS = 1000;

export class Dispatcher {
  readonly #options: DispatchOptions;
  #stopped = false;
  #draining = false;
  /** Calls that were made and have not returned. */
  #inFlight = 0;

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** Drops every result that arrives from now on. */
  stop(): void {
    this.#stopped = true;
  }

  /** Starts no further call. */
  drain(): void {
    this.#draining = true;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Carries out the commands of a turn that is stored, or of a run that was just loaded. */
  carryOut(owned: OwnedRun, state: RunState, commands: readonly HostCommand[]): void {
    let awaited: EffectKey[] | null = null;
    for (const command of commands) {
      if (command.do === 'abort') owned.calls.abort(command.key);
      else if (command.do === 'drop') this.#drop(owned, command.key);
      else if (command.do === 'await') (awaited ??= []).push(command.key);
      else if (!owned.calls.has(command.command.key, command.command.attempt)) this.#perform(owned, command.command);
    }
    if (awaited !== null) this.#answerAtOnce(owned, state, awaited);
  }

  /**
   * Aborts a call and tells the run if it was sent. A call with effects gets a moment to return, because only its performer knows if
   * anything has left the engine.
   */
  #drop(owned: OwnedRun, key: EffectKey): void {
    const call = owned.calls.drop(key);
    if (call === undefined || typeof call === 'string') return this.#answerDrop(owned, key, call ?? 'unknown');
    if (!call.started) return this.#answerDrop(owned, key, notSent(owned, call.command));
    const { command } = call;
    const answer = (): void => {
      if (owned.calls.answered(key, command.attempt)) this.#answerDrop(owned, key, 'yes');
    };
    if (command.kind !== 'tool' || !hasEffects(owned.program.flow, command.name)) return answer();
    const { clock } = this.#options;
    clock.at(clock.now() + DROP_GRACE_MS, answer);
  }

  #answerDrop(owned: OwnedRun, key: EffectKey, sent: Sent): void {
    if (!this.#stopped) this.#options.send(owned, { fact: { type: 'dropped', key, sent } });
  }

  /** Sets the timer for the next tick of the run. `isOwned` is false when the run was dropped meanwhile. */
  arm(owned: OwnedRun, state: RunState, due: Instant | null, isOwned: boolean): void {
    owned.cancelWake?.();
    owned.cancelWake = null;
    if (due === null || !isOwned) return;
    if (this.#options.clock.virtual && statusOf(state) === 'suspended' && !this.#passes(owned, state, due)) return;
    owned.cancelWake = this.#at(owned, due, () => {
      owned.cancelWake = null;
      this.#options.send(owned, { fact: { type: 'tick' } });
    });
  }

  /**
   * True if a virtual clock may jump to `due`. It does not jump to the deadline of the caller, nor to the end or the
   * escalation of a question that a person answers.
   */
  #passes(owned: OwnedRun, state: RunState, due: Instant): boolean {
    const { performer, clock } = this.#options;
    if (due === state.origin.deadline) return false;
    if (due <= runNow(owned, clock)) return true;
    return [...state.pending.values()].every(({ question, deadline, escalateAt, observed, name, ordinal, node }) => {
      if (question === null || observed !== null || (deadline !== due && escalateAt !== due)) return true;
      return performer.expires?.({ question, name, ordinal, node: authorOf(nodeAt(owned.program, node)) }) ?? true;
    });
  }

  #answerAtOnce(owned: OwnedRun, state: RunState, keys: readonly string[]): void {
    const { performer } = this.#options;
    for (const key of keys) {
      const pending = state.pending.get(key);
      if (pending === undefined || pending.observed !== null) continue;
      const { question, signal, name, ordinal } = pending;
      const node = authorOf(nodeAt(owned.program, pending.node));
      const answer = question === null ? undefined : performer.answer?.({ question, name, ordinal, node });
      if (question !== null && answer !== undefined && answer !== null)
        for (const each of standIns(owned.program.flow, state, pending, answer))
          this.#bring(owned, { type: 'answer', id: question.id, answer: each });
      const sent = signal === undefined ? undefined : performer.signal?.({ key, signal, ordinal, node });
      if (signal !== undefined && sent !== undefined && sent !== null)
        this.#bring(owned, { type: 'signal', name: signal, data: sent.data, by: 'script', key });
    }
  }

  /** Answers and signals of a script enter the journal like those of a person. */
  #bring(owned: OwnedRun, fact: MailFact): void {
    const { flow } = owned.program;
    if (flow.pii === undefined || !holdsText(fact)) return this.#options.send(owned, { fact });
    void this.#protect(owned, fact);
  }

  /** While the fact is being protected, the run is busy and no virtual time passes. */
  async #protect(owned: OwnedRun, fact: MailFact): Promise<void> {
    const { performer, clock, send, rest } = this.#options;
    const done = clock.busy?.();
    owned.protecting += 1;
    let safe: MailFact | null = null;
    try {
      safe = await protectedFact(performer, fact, { program: owned.program, run: owned.run, state: owned.state });
    } catch {
      // Without protection nothing is recorded: the question stays open.
    }
    owned.protecting -= 1;
    if (safe === null) rest(owned);
    else send(owned, { fact: safe });
    done?.();
  }

  #perform(owned: OwnedRun, command: Command): void {
    const { clock, listeners } = this.#options;
    const { pins } = owned.state?.origin ?? {};
    const call = owned.calls.start(command, { flow: owned.program.flow, clock, pins, listeners });
    // The time of the run is not before its last event, so the clock is read only for a call that waits.
    const isLater = command.notBefore > (owned.state?.now ?? -Infinity);
    // The clock of an earlier process may have been ahead, so that process may have sent a call that waits here.
    if (isLater && command.notBefore > runNow(owned, clock))
      this.#at(owned, command.notBefore, () => this.#start(owned, call));
    else this.#start(owned, call);
  }

  /** Calls back at an instant of the run's time. The timer itself is relative, so a jump of the clock does not affect it. */
  #at(owned: OwnedRun, instant: Instant, wake: () => void): () => void {
    const { clock } = this.#options;
    return clock.at(clock.now() + (instant - runNow(owned, clock)), wake);
  }

  #start(owned: OwnedRun, call: RunningCall): void {
    const { guard, holdsLease } = this.#options;
    const { command } = call;
    // The next owner of the run makes it.
    if (this.#draining || !owned.calls.has(command.key, command.attempt)) return;
    if (!holdsLease()) return void this.#startOnceRenewed(owned, call);
    const start = {
      isAllowed: (): boolean => holdsLease() && owned.calls.has(command.key, command.attempt),
      made: (): void => void (call.started = true),
    };
    this.#inFlight += 1;
    perform(guard, call, start, owned)
      .finally(() => (this.#inFlight -= 1))
      .then(
        (performed) => this.#returned(owned, command, performed),
        () => this.#start(owned, call),
      );
  }

  /**
   * A call waits for the lease. The other calls of its run go on: dropping the run here would repeat them as soon as this process takes
   * it again. If another worker has taken over, the worker stops, and with it all calls.
   */
  async #startOnceRenewed(owned: OwnedRun, call: RunningCall): Promise<void> {
    // The timer keeps the process alive: often the call is all that the run waits for.
    if (!(await this.#options.renewLease())) await new Promise((resolve) => setTimeout(resolve, RENEW_PAUSE_MS));
    if (!this.#stopped) this.#start(owned, call);
  }

  #returned(owned: OwnedRun, command: Command, { fact, result }: Returned): void {
    const { key, attempt } = command;
    const sent = sentBy(owned, command, result);
    if (owned.calls.answered(key, attempt)) return this.#answerDrop(owned, key, sent);
    if (owned.calls.end(key, attempt, sent) && !this.#stopped) this.#options.send(owned, { fact });
  }
}

type Performing = Pick<OwnedRun, 'program' | 'state' | 'repeated'>;

/** The result of a call as a fact, and as the performer gave it. */
interface Returned {
  readonly fact: Fact;
  readonly result: Settled;
}

/** Makes a call. Rejects with `NotStarted` if it may no longer start. */
export async function perform(guard: Guard, call: Call, start: Start, run: Performing): Promise<Returned> {
  const { command } = call;
  const { key, attempt } = command;
  const { result, notes } = await guard.perform(call, start).catch((error: unknown): Performed => {
    if (error instanceof NotStarted) throw error;
    return { result: { ok: false, error: failureOf(error) }, notes: [] };
  });
  const known = withPrice(run, command, shortened(withEarlier(run, command, result)));
  const fact = { type: 'settle', key, attempt, result: known } as const;
  return { fact: notes.length === 0 ? fact : { ...fact, notes }, result };
}

function sentBy(owned: OwnedRun, command: Command, result: Settled): Sent {
  const isUnsent = result.ok
    ? result.unsent === true
    : result.error.unsent !== undefined || result.error.notSent === true;
  return isUnsent ? notSent(owned, command) : 'yes';
}

/** This process has not sent the call. An earlier one may have. */
function notSent({ repeated }: OwnedRun, command: Command): Sent {
  return repeated.has(attemptId(command)) ? 'unknown' : 'no';
}

/**
 * A call with effects that an earlier process may have made, and that cannot be sent again, has an unknown outcome, as after a
 * timeout. Otherwise a run that is resumed while a service is down would neither undo the call nor show it.
 */
function withEarlier({ program: { flow }, repeated }: Performing, command: Command, result: Settled): Settled {
  if (result.ok || result.error.notSent === undefined) return result;
  const { notSent: _, ...error } = result.error;
  const isChange = command.kind === 'tool' && hasEffects(flow, command.name);
  if (!isChange || !repeated.has(attemptId(command))) return { ...result, error };
  const message = `${error.message}; an earlier process may have made the call`;
  return { ...result, error: { ...error, class: 'timeout', message, sent: 'unknown' } };
}

const TYPE_MAX = 200;
const MESSAGE_MAX = 8_000;

/** A tool, a server or code of a model can fail with a text of any length. Prompts and the journal get its start. */
function shortened(result: Settled): Settled {
  if (result.ok) return result;
  const { type, message } = result.error;
  if (type.length <= TYPE_MAX && message.length <= MESSAGE_MAX) return result;
  return { ...result, error: { ...result.error, type: start(type, TYPE_MAX), message: start(message, MESSAGE_MAX) } };
}

function start(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** The cost of a tool call is declared, not measured. Every call that was made costs it, even if it failed. */
function withPrice(
  { program, state }: Performing,
  call: Pick<Command, 'key' | 'kind' | 'node'>,
  result: Settled,
): Settled {
  const node = program.flow.nodes[call.node];
  if (node?.op !== 'do' || node.effect.kind !== 'tool' || call.kind !== 'tool') return result;
  const isUndo = (state?.pending.get(call.key)?.undoes ?? null) !== null;
  const cost = (isUndo ? node.undo : node.effect.reserve)?.costMicros ?? 0;
  if (cost === 0 || result.used?.costMicros !== undefined) return result;
  return { ...result, used: { ...result.used, costMicros: cost } };
}
