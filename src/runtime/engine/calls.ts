/** Calls under way for one run. Each can be aborted; the signal is made only when a performer asks for it. */
import { hash } from 'node:crypto';
import { digest } from '../../core/digest.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Command, EffectKey, RunId } from '../../ir/events.ts';
import type { Call, Clock } from '../ports.ts';
import { pure } from './pure.ts';

export class Calls {
  readonly #running = new Map<EffectKey, RunningCall>();

  start(command: Command, flow: CompiledFlow, clock: Clock, hearing?: Hearing): Call {
    const call = new RunningCall(command, flow, clock, hearing);
    this.#running.set(command.key, call);
    return call;
  }

  has(key: EffectKey, attempt: number): boolean {
    return this.#running.get(key)?.command.attempt === attempt;
  }

  /** Forgets a call that has come back. False when it was aborted in the meantime. */
  end(key: EffectKey, attempt: number): boolean {
    return this.has(key, attempt) && this.#running.delete(key);
  }

  abort(key: EffectKey): void {
    const call = this.#running.get(key);
    if (call === undefined) return;
    this.#running.delete(key);
    call.abort();
  }

  abortAll(): void {
    for (const call of this.#running.values()) call.abort();
    this.#running.clear();
  }

  get size(): number {
    return this.#running.size;
  }
}

/** Who listens to what models say while they say it. */
export interface Hearing {
  listens(run: RunId): boolean;
  say(command: Command, text: string): void;
}

class RunningCall implements Call {
  readonly command: Command;
  readonly flow: CompiledFlow;
  readonly clock: Clock;
  readonly #hearing: Hearing | undefined;
  #controller: AbortController | null = null;
  #aborted = false;

  constructor(command: Command, flow: CompiledFlow, clock: Clock, hearing: Hearing | undefined) {
    this.#hearing = hearing;
    this.command = command;
    this.flow = flow;
    this.clock = clock;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  /** What an aborted call still says is said to nobody. */
  get hear(): ((text: string) => void) | undefined {
    const hearing = this.#hearing;
    if (hearing === undefined || !hearing.listens(this.command.run)) return undefined;
    return (text) => {
      if (!this.#aborted && text !== '') hearing.say(this.command, text);
    };
  }

  /** The same for every attempt, so that a tool that has already done the work can say so; never shared between runs. */
  get idempotencyKey(): string {
    const { run, node, key, input } = this.command;
    // By the digest, which does not depend on the order of fields: a graph that was stored may come back in another one.
    return hash('sha256', JSON.stringify([run, node, key, digest(input, pure.hash)]), 'hex');
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
