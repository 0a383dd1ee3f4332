/** Calls under way for one run. Each can be aborted; the signal is made only when a performer asks for it. */
import { hash } from 'node:crypto';
import type { CompiledFlow } from '../core/ir.ts';
import type { Command, EffectKey } from '../core/run.ts';
import type { Call, Clock } from './ports.ts';

export interface Calls {
  start(command: Command, flow: CompiledFlow, clock: Clock): Call;
  has(key: EffectKey, attempt: number): boolean;
  /** Forgets a call that has come back. False when it was aborted in the meantime. */
  end(key: EffectKey, attempt: number): boolean;
  abort(key: EffectKey): void;
  abortAll(): void;
  readonly size: number;
}

export function createCalls(): Calls {
  const running = new Map<EffectKey, RunningCall>();
  return {
    start: (command, flow, clock) => {
      const call = new RunningCall(command, flow, clock);
      running.set(command.key, call);
      return call;
    },
    has: (key, attempt) => running.get(key)?.command.attempt === attempt,
    end: (key, attempt) => {
      if (running.get(key)?.command.attempt !== attempt) return false;
      return running.delete(key);
    },
    abort: (key) => {
      running.get(key)?.abort();
      running.delete(key);
    },
    abortAll: () => {
      for (const call of running.values()) call.abort();
      running.clear();
    },
    get size() {
      return running.size;
    },
  };
}

class RunningCall implements Call {
  readonly command: Command;
  readonly flow: CompiledFlow;
  readonly clock: Clock;
  #controller: AbortController | null = null;
  #aborted = false;

  constructor(command: Command, flow: CompiledFlow, clock: Clock) {
    this.command = command;
    this.flow = flow;
    this.clock = clock;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  /** The same for every attempt, so that a tool that has already done the work can say so; never shared between runs. */
  get idempotencyKey(): string {
    const { run, node, key, input } = this.command;
    return hash('sha256', JSON.stringify([run, node, key, input]), 'hex');
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
