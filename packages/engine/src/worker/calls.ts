/** The running calls of one run. The abort signal of a call is created only when its performer asks for it. */
import { hash } from 'node:crypto';
import { digest } from '@sluice-internal/kernel/core';
import type { Command, CompiledFlow, EffectKey, Pins, RunId, Sent } from '@sluice-internal/kernel/ir';
import type { Call, Clock, StreamedPart } from '../ports/ports.ts';
import { pure } from '../ports/pure.ts';

export class Calls {
  readonly #running = new Map<EffectKey, RunningCall>();
  /** Calls that are aborted and have not returned. */
  readonly #dropped = new Map<EffectKey, RunningCall>();
  /** Calls whose result is on its way into the journal. */
  readonly #returned = new Map<EffectKey, Sent>();

  start(command: Command, context: CallContext): RunningCall {
    const call = new RunningCall(command, context);
    this.#running.set(command.key, call);
    return call;
  }

  has(key: EffectKey, attempt: number): boolean {
    return this.#running.get(key)?.command.attempt === attempt;
  }

  /** Removes a call that has returned. False when it was aborted before. */
  end(key: EffectKey, attempt: number, sent: Sent): boolean {
    if (!this.has(key, attempt)) return false;
    this.#returned.set(key, sent);
    return this.#running.delete(key);
  }

  /** Aborts a call that the run has dropped: the running call, or what is known about a call that has returned. */
  drop(key: EffectKey): RunningCall | Sent | undefined {
    const call = this.#running.get(key);
    if (call === undefined) return this.#returned.get(key);
    this.#running.delete(key);
    if (call.started) this.#dropped.set(key, call);
    call.abort();
    return call;
  }

  /** True once: the run waits for the answer to this drop. */
  answered(key: EffectKey, attempt: number): boolean {
    return this.#dropped.get(key)?.command.attempt === attempt && this.#dropped.delete(key);
  }

  abort(key: EffectKey): void {
    this.#returned.delete(key);
    this.#dropped.delete(key);
    const call = this.#running.get(key);
    if (call === undefined) return;
    this.#running.delete(key);
    call.abort();
  }

  abortAll(): void {
    for (const call of this.#running.values()) call.abort();
    this.#running.clear();
    this.#dropped.clear();
    this.#returned.clear();
  }

  get size(): number {
    return this.#running.size;
  }
}

export interface CallContext {
  readonly flow: CompiledFlow;
  readonly clock: Clock;
  /** The folder and the code of the run. */
  readonly pins: Pins | undefined;
  readonly listeners: TextListeners | undefined;
}

/** Receive the text of model replies while it is generated. */
export interface TextListeners {
  hasListener(run: RunId): boolean;
  onText(command: Command, text: string, part?: StreamedPart): void;
}

export class RunningCall implements Call {
  readonly command: Command;
  readonly flow: CompiledFlow;
  readonly clock: Clock;
  readonly #listeners: TextListeners | undefined;
  readonly pins: Pins | undefined;
  /** The performer has got it, so it may have left the engine. */
  started = false;
  #controller: AbortController | null = null;
  #aborted = false;

  constructor(command: Command, { flow, clock, pins, listeners }: CallContext) {
    this.#listeners = listeners;
    this.pins = pins;
    this.command = command;
    this.flow = flow;
    this.clock = clock;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  get onText(): ((text: string, part?: StreamedPart) => void) | undefined {
    const listeners = this.#listeners;
    if (listeners === undefined || !listeners.hasListener(this.command.run)) return undefined;
    return (text, part) => {
      // Drop text that arrives after an abort.
      if (!this.#aborted && text !== '') listeners.onText(this.command, text, part);
    };
  }

  /** The same for every attempt, so that a tool can recognise a repeated call. Different for every run and store. */
  get idempotencyKey(): string {
    const { run, node, key, input } = this.command;
    // The digest ignores the order of fields, which may change when a graph is stored.
    return hash('sha256', JSON.stringify([this.pins?.store ?? '', run, node, key, digest(input, pure.hash)]), 'hex');
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
