/** Small flows written by hand, and ways to run them without a world: for tests that need to see one thing clearly. */
import { createHash } from 'node:crypto';
import { openMemory } from '@sluice-internal/engine/memory';
import type {
  Answer,
  CompiledFlow,
  DoNode,
  EndNode,
  Event,
  Fact,
  FlowBody,
  ForkNode,
  LetNode,
  Meter,
  Node,
  Origin,
  PickNode,
  Refusal,
  RunState,
  Sent,
  Settled,
  ToolEffect,
} from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { createProgram, settle } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { createVirtualClock, pure } from '@sluice-internal/engine/ports';
import type { Asked, Call, Clock, Engine, Report, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';

export const NO_RETRY = { max: 0, baseMs: 0, capMs: 0, on: [] } as const;

export function flowOf(nodes: { readonly [id: string]: Node }, more: Partial<FlowBody> = {}): CompiledFlow {
  const body: FlowBody = {
    ir: 1,
    id: 'law',
    notation: 'flow',
    entry: Object.keys(nodes)[0] as string,
    fail: 'fail',
    nodes: { ...nodes, fail: { op: 'end', label: { name: 'fail' }, state: 'failed', code: 'error', output: 'null' } },
    meters: {},
    agents: {},
    tools: {},
    models: {},
    least: {},
    ...more,
  };
  return { ...body, hash: `sha256:${createHash('sha256').update(JSON.stringify(body)).digest('hex')}` };
}

/** The parts of a flow that give a run this much time. */
export function within(timeMs: number): Pick<FlowBody, 'clock' | 'meters'> {
  return { clock: 'time', meters: { time: { unit: 'time', max: timeMs, halts: true, over: 'fail', label: 'time' } } };
}

export function tool(
  name: string,
  next: string,
  more: Omit<Partial<DoNode>, 'effect'> & { effect?: Partial<ToolEffect> } = {},
): DoNode {
  const { effect, ...rest } = more;
  return {
    op: 'do',
    label: { name },
    effect: {
      kind: 'tool',
      tool: name,
      input: { x: 'input' },
      reserve: { toolCalls: 1 },
      ...effect,
    },
    writes: [{ slot: name, mode: 'set', value: 'it' }],
    timeoutMs: 1000,
    retry: NO_RETRY,
    next,
    failed: [],
    fail: 'fail',
    ...rest,
  };
}

export function undoable(name: string, next: string, more: Omit<Partial<DoNode>, 'effect'> = {}): DoNode {
  return tool(name, next, { undo: { tool: `undo_${name}`, input: { x: 'input.x' }, timeoutMs: 500 }, ...more });
}

export function ask(about: string, next: string, more: Partial<DoNode> = {}): DoNode {
  return {
    op: 'do',
    label: { name: about },
    effect: {
      kind: 'ask',
      about,
      input: { message: '"may I?"', amount: 'input' },
      reserve: {},
      choices: [{ name: 'approve', edit: { type: 'object' } }, { name: 'reject' }],
      onExpiry: 'reject',
      code: 'CONFIRM_REQUIRED',
      askedBy: 'bot',
    },
    writes: [{ slot: about, mode: 'set', value: 'it' }],
    timeoutMs: null,
    retry: NO_RETRY,
    next,
    failed: [],
    fail: 'fail',
    ...more,
  };
}

export function end(
  output = 'null',
  state: EndNode['state'] = 'completed',
  code: EndNode['code'] = 'SUCCESS',
): EndNode {
  return { op: 'end', label: { name: 'end' }, state, code, output };
}

export function set(slot: string, value: string, next: string): LetNode {
  return { op: 'let', label: { name: slot }, writes: [{ slot, mode: 'set', value }], next };
}

export function pick(when: string, to: string, otherwise: string, charges: readonly string[] = []): PickNode {
  return { op: 'pick', label: { name: 'pick' }, cases: [{ when, to }], otherwise, charges };
}

export function forkOver(over: ForkNode['over'], next: string, more: Partial<ForkNode> = {}): ForkNode {
  return {
    op: 'fork',
    label: { name: 'fork' },
    over,
    widthMax: 0,
    need: 'all',
    eager: false,
    timeoutMs: null,
    into: 'all',
    gather: [],
    next,
    failed: [],
    fail: 'fail',
    ...more,
  };
}

export function meter(unit: Meter['unit'], max: number | null, over = 'fail'): Meter {
  return { unit, max, over, label: unit };
}

/** The core alone: facts in, one after the other, each at an instant of its own. */
export class Core {
  readonly program: Program;
  readonly events: Event[] = [];
  state: RunState | null = null;
  /** What the host answers when a call is dropped. Null: nothing yet. */
  sent: Sent | null = 'yes';

  constructor(flow: CompiledFlow, input: Json = 1, origin: Origin = {}) {
    this.program = createProgram(flow, pure);
    this.tell({ type: 'start', run: 'r', flow: flow.hash, input, seed: 1, origin }, 0);
  }

  tell(fact: Fact, at: number): Refusal | null {
    const turn = settle(this.program, this.state, [fact], at);
    this.state = turn.state;
    this.events.push(...turn.events);
    for (const { key, dropped } of this.sent === null ? [] : [...(this.state?.pending.values() ?? [])])
      if (dropped !== undefined && this.sent !== null) this.tell({ type: 'dropped', key, sent: this.sent }, at);
    return turn.refusals.get(0) ?? null;
  }

  answer(key: string, result: Json | Settled, at = 1, attempt = 1): Refusal | null {
    const isSettled = result !== null && typeof result === 'object' && 'ok' in result;
    return this.tell(
      { type: 'settle', key, attempt, result: isSettled ? (result as Settled) : { ok: true, value: result } },
      at,
    );
  }

  fail(key: string, kind: 'transient' | 'fatal' | 'timeout', at = 1, attempt = 1): Refusal | null {
    return this.answer(key, { ok: false, error: { class: kind, type: 'TestError', message: kind } }, at, attempt);
  }

  /** What the world owes now, as `key name`. */
  get owed(): string[] {
    return [...(this.state?.pending.values() ?? [])]
      .filter(({ observed, dropped }) => observed === null && dropped === undefined)
      .map(({ key, name }) => `${key} ${name}`);
  }

  types(): string[] {
    return this.events.map(({ type }) => type);
  }
}

type Tools = { readonly [name: string]: (call: Call) => Json | Settled | Promise<Json | Settled> };

export interface World {
  readonly tools?: Tools;
  readonly answer?: (asked: Asked) => Answer | null;
  readonly clock?: Clock;
  readonly store?: Store;
  readonly snapshotEvery?: number;
}

/** The whole engine over a store in memory. Whoever opens it closes it. */
export function openEngine({
  tools = {},
  answer,
  clock = createVirtualClock(0),
  store = openMemory(),
  snapshotEvery,
}: World = {}): { engine: Engine; store: Store } {
  const engine = createRuntime({
    store,
    clock,
    pickUp: false,
    ...(snapshotEvery === undefined ? {} : { snapshotEvery }),
    performer: {
      perform: async (call) => {
        const said = (await tools[call.command.name]?.(call)) ?? null;
        return said !== null && typeof said === 'object' && 'ok' in said
          ? (said as Settled)
          : { ok: true, value: said };
      },
      ...(answer === undefined ? {} : { answer }),
    },
  });
  return { engine, store };
}

export async function runToEnd(
  flow: CompiledFlow,
  world: World = {},
  input: Json = 1,
): Promise<{ report: Report; store: Store; close: () => Promise<void> }> {
  const { engine, store } = openEngine(world);
  await engine.start(flow, { run: 'r', input, seed: 1 });
  return { report: await engine.settled('r'), store, close: () => engine.close() };
}
