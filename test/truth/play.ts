/**
 * Plays a case through the library as a user would: compiles the document, starts an engine with a script for models and people
 * and with functions for tools, answers what it asks, and looks at the report. The functions are the world: they write down every
 * call that really reaches them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import { PerformError, compile, createEngine, openMemory } from '@sluice-internal/library';
import type {
  ChainedEvent,
  CompileResult,
  Engine,
  Json,
  Report,
  Store,
  ToolContext,
  ToolFunction,
  Waiting,
} from '@sluice-internal/library';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Clock } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import type { ReadRun } from '@sluice-internal/engine/journal';
import type { Case, Deed, Given } from './cases.ts';

/** A call that reached the world. */
export interface Reached {
  readonly tool: string;
  readonly args: Json;
  /** The idempotency key. */
  readonly key: string;
  /** Of an undo: the result of the call that it undoes. */
  readonly undoes: Json;
  became: 'done' | 'failed' | 'aborted' | 'open';
}

export interface Played {
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
  /** Calls that reached the world, in order. */
  readonly world: readonly Reached[];
  /** Questions that were open when an answer was given, and those that are open now. */
  readonly asked: readonly Waiting[];
  /** The run as it is stored. */
  readonly read: ReadRun;
}

const PATIENCE_MS = 30_000;
const CRASHES_MAX = 8;

function compileCase({ document }: Pick<Case<object>, 'document'>): CompileResult {
  const result = compile(document);
  const errors = result.diagnostics.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ code, message }) => `${code}: ${message}`)).toEqual([]);
  return result;
}

export async function play(each: Case<object>): Promise<Played> {
  const compiled = compileCase(each);
  const world: Reached[] = [];
  const asked: Waiting[] = [];
  const life = new Life(each, world);
  let engine = life.engine();
  const run = await engine.start(compiled, {
    run: 'r_1',
    input: each.input ?? 'hello',
    seed: 1,
    ...(each.user === undefined ? {} : { origin: { user: each.user } }),
  });
  const left = [...(each.answers ?? [])];
  let crashes = 0;
  try {
    for (;;) {
      const settled = await life.settled(engine);
      if (settled === 'crashed') {
        if ((crashes += 1) > CRASHES_MAX) throw new Error('the call is made again after every crash');
        engine = life.engine();
        await engine.resume(run);
        continue;
      }
      const waiting = settled.waiting;
      asked.push(...waiting.filter(({ id }) => !asked.some((other) => other.id === id)));
      const next = left.shift();
      if (settled.state === 'suspended' && next !== undefined) await life.answer(engine, waiting, next);
      else if (settled.state === 'suspended' && each.cancel === true && !life.cancelled) await life.cancel(engine);
      else break;
    }
    const report = await engine.get(run);
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) events.push(event);
    return { report, events, world, asked, read: await life.read(run) };
  } finally {
    await life.end();
  }
}

/** The names by which a case may name a question: its node, and the tool that it is about. */
export function aboutOf({ node, data }: Pick<Waiting, 'node' | 'data'>): readonly string[] {
  return [node, ...('tool' in data ? [String(data['tool'])] : [])];
}

/** The processes that work on the run: after a crash, another one takes over. */
class Life {
  readonly #case: Case<object>;
  readonly #world: Reached[];
  readonly #store = openMemory();
  readonly #engines: Engine[] = [];
  readonly #counts = new Map<string, number>();
  #clock: Clock = createVirtualClock(Date.UTC(2026, 0, 5, 9));
  #crash: () => void = () => undefined;
  #crashed: Promise<'crashed'> = new Promise(() => undefined);
  #hasCrashed = false;
  cancelled = false;

  constructor(each: Case<object>, world: Reached[]) {
    this.#case = each;
    this.#world = world;
  }

  engine(): Engine {
    const mortal = mortalStore(this.#store);
    if (this.#hasCrashed) this.#clock = createVirtualClock(this.#clock.now() + (this.#case.down ?? 60) * 1000);
    this.#crashed = new Promise((resolve) => {
      this.#crash = () => {
        mortal.die();
        this.#hasCrashed = true;
        this.#engines.pop();
        resolve('crashed');
      };
    });
    const engine = createEngine({
      journal: mortal.store,
      clock: this.#clock,
      script: this.#case.script,
      tools: this.#tools(),
      pickUp: false,
    });
    this.#engines.push(engine);
    return engine;
  }

  read(run: string): Promise<ReadRun> {
    return readRun(this.#store.journal, run);
  }

  async settled(engine: Engine): Promise<Report | 'crashed'> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    const never = new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(new Error('the run neither ends nor waits')), { once: true });
    });
    const settled = engine.settled('r_1');
    // After a crash nobody waits for it any more.
    settled.catch(() => undefined);
    never.catch(() => undefined);
    return Promise.race([settled, this.#crashed, never]);
  }

  async answer(engine: Engine, waiting: readonly Waiting[], { about, after = 0, ...given }: Given): Promise<void> {
    const question = waiting.find((each) => about === undefined || aboutOf(each).includes(about));
    if (question === undefined) throw new Error(`nothing asks about ${about ?? 'anything'}`);
    await this.#clock.sleep(after * 1000);
    await engine.answer(question.id, { ...given, by: 'anna' });
  }

  async cancel(engine: Engine): Promise<void> {
    this.cancelled = true;
    await engine.cancel('r_1', 'anna', 'no longer needed');
  }

  async end(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.close()));
  }

  #tools(): { readonly [name: string]: ToolFunction } {
    const { tools = {} } = this.#case.document as { readonly tools?: { readonly [name: string]: object } };
    const scripted = this.#case.script.tools ?? {};
    const own = [...new Set([...Object.keys(tools), ...Object.keys(this.#case.world ?? {})])].filter(
      (name) => !Object.hasOwn(scripted, name),
    );
    return Object.fromEntries(own.map((name) => [name, this.#tool(name)]));
  }

  #tool(tool: string): ToolFunction {
    return async (args, context) => {
      const reached: Reached = { tool, args, key: context.idempotencyKey, undoes: context.result, became: 'open' };
      this.#world.push(reached);
      try {
        const result = await this.#act(this.#next(tool), context);
        reached.became = 'done';
        return result;
      } catch (error) {
        reached.became = context.signal.aborted ? 'aborted' : 'failed';
        throw error;
      }
    };
  }

  #next(tool: string): Deed {
    const given = this.#case.world?.[tool] ?? {};
    const deeds = Array.isArray(given) ? (given as readonly Deed[]) : [given as Deed];
    const count = this.#counts.get(tool) ?? 0;
    this.#counts.set(tool, count + 1);
    return deeds[Math.min(count, deeds.length - 1)] ?? {};
  }

  async #act(deed: Deed, { signal }: ToolContext): Promise<Json> {
    // Virtual time passes only while the world takes its time.
    const done = this.#clock.busy?.();
    try {
      await nextTurn();
      if (deed.crashes === true) this.#crash();
      if (deed.cancels === true && this.#engines[0] !== undefined) await this.cancel(this.#engines[0]);
    } finally {
      done?.();
    }
    if (deed.crashes === true || deed.cancels === true || deed.hangs === true) await aborted(signal);
    if (deed.delayMs !== undefined) await this.#clock.sleep(deed.delayMs, signal);
    if (deed.error === undefined) return deed.result ?? { ok: true };
    const message = deed.message ?? `a ${deed.error} failure`;
    throw new PerformError({ class: deed.error, type: SCRIPTED_TYPES[deed.error], message });
  }
}

const SCRIPTED_TYPES = {
  transient: 'TransientError',
  timeout: 'TimeoutError',
  rate_limit: 'RateLimitError',
  fatal: 'FatalError',
} as const;

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/**
 * A store as one process sees it. When the process is dead, nothing that it still asks for is answered or stored, and its lease
 * is over, as it would be some time later.
 */
function mortalStore(store: Store): { readonly store: Store; readonly die: () => void } {
  let dead = false;
  const workers = new Set<string>();
  const guarded = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          if (dead) return new Promise(() => undefined);
          if (target === store.leases && typeof args[0] === 'string') workers.add(args[0]);
          return (value as (...given: readonly unknown[]) => unknown).apply(target, [...args]);
        };
      },
    });
  const parts = {
    journal: guarded(store.journal),
    leases: guarded(store.leases),
    mail: guarded(store.mail),
    index: guarded(store.index),
    shared: guarded(store.shared),
  };
  const die = (): void => {
    dead = true;
    for (const worker of workers) void store.leases.resign(worker);
  };
  return { store: { ...store, ...parts, close: async () => undefined }, die };
}
