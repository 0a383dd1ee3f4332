/** A run that ended because a budget was used up goes on at the call that did not fit, if more is granted (L2, L4, L5, L8). */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { openMemory } from '@sluice-internal/engine/memory';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Report } from '@sluice-internal/engine/ports';
import type { Script } from '@sluice-internal/library/host';
import type { CompiledFlow, Event, RunState, Sent } from '@sluice-internal/kernel/ir';
import { createProgram, outstanding, settle } from '@sluice-internal/kernel/core';
import { pure } from '@sluice-internal/engine/ports';
import { copyState } from '../../packages/engine/src/journal/snapshot.ts';
import { compiled, scriptedEngine } from '../support/harness.ts';

const look = { description: 'Looks.', effect: 'read', input: { type: 'object' }, http: { url: 'https://x.test/' } };
const pay = { ...look, effect: 'financial', http: { method: 'POST', url: 'https://x.test/' } };
const undoable = { ...pay, compensate: 'unpay' };
const TOOLS = { look, pay, keyed: { ...pay, idempotent: true }, undoable, unpay: { ...pay, idempotent: true } };

/** A run in the core alone. Each state goes through its stored form, as after a restart. */
class Driven {
  readonly #program;
  readonly #sent: Sent;
  readonly events: Event[] = [];
  readonly made: string[] = [];
  state: RunState | null = null;
  at = 1000;

  /** `sent` is the answer of the host about a call that is dropped. */
  constructor(flow: CompiledFlow, sent: Sent = 'yes') {
    this.#sent = sent;
    this.#program = createProgram(flow, pure);
    this.#take({ type: 'start', run: 'r', flow: flow.hash, input: 'go', seed: 1, origin: {} });
  }

  #take(fact: Parameters<typeof settle>[2][number]): string | null {
    const before = this.state === null ? null : copyState(this.state);
    const turn = settle(this.#program, before, [fact], this.at);
    this.state = turn.state;
    this.events.push(...turn.events);
    for (const { key, dropped } of [...(turn.state?.pending.values() ?? [])])
      if (dropped !== undefined) this.#take({ type: 'dropped', key, sent: this.#sent });
    return turn.refusals.get(0)?.refused ?? null;
  }

  get open(): ReturnType<typeof outstanding>['commands'] {
    return this.state === null ? [] : outstanding(this.#program, this.state).commands;
  }

  /** Makes calls until none is open, at most as many as given. */
  work(most = Infinity, reply: (name: string, count: number) => unknown = () => 'done'): this {
    for (let count = 0; count < most; count++) {
      const [call] = this.open;
      if (call === undefined) break;
      this.made.push(call.key);
      const value = reply(call.name, this.made.length) as never;
      this.#take({ type: 'settle', key: call.key, attempt: call.attempt, result: { ok: true, value } });
    }
    return this;
  }

  wait(ms: number): this {
    this.at += ms;
    this.#take({ type: 'tick' });
    return this;
  }

  grant(budget: { readonly [name: string]: number }, by = 'ann'): string | null {
    const grants = Object.entries(budget).map(([dimension, amount]) => ({ dimension, amount }));
    return this.#take({ type: 'grant', by, grants });
  }

  /** Answers the first open question. */
  answer(choice: string): this {
    const asked = [...(this.state?.pending.values() ?? [])].find(({ question }) => question !== null);
    this.#take({ type: 'answer', id: asked?.question?.id ?? '', answer: { choice, by: 'ann' } });
    return this;
  }

  cancel(): this {
    this.#take({ type: 'cancel', by: 'ann', why: '' });
    return this;
  }

  get code(): string | null {
    return this.state?.outcome?.code ?? null;
  }
}

function steps(tools: readonly string[], budgets: object): CompiledFlow {
  return compiled({
    tools: TOOLS,
    budgets,
    flow: {
      id: 'steps',
      entry: 's0',
      nodes: tools.map((tool, n) => ({
        id: `s${n}`,
        type: 'tool',
        tool,
        params: {},
        routes: [{ to: n + 1 < tools.length ? `s${n + 1}` : 'end' }],
      })),
    },
  });
}

function unique(keys: readonly string[]): boolean {
  return new Set(keys).size === keys.length;
}

describe('a grant', () => {
  test('L5: lets the run go on at the call that did not fit, as often as it is stopped', () => {
    const run = new Driven(steps(['look', 'pay', 'look', 'pay'], { tool_calls: 1 })).work();
    // The end is known to need more calls, so the run stops before it begins.
    expect([run.code, run.made.length]).toEqual(['BUDGET_EXHAUSTED', 0]);
    expect(run.grant({ tool_calls: 1 })).toBeNull();
    expect(run.code).toBe('BUDGET_EXHAUSTED');
    expect(run.grant({ tool_calls: 2 })).toBeNull();
    run.work();
    expect([run.code, run.made.length]).toEqual(['SUCCESS', 4]);
    expect(run.events.filter(({ type }) => type === 'budget.granted')).toEqual([
      expect.objectContaining({ by: 'ann', dimension: 'tool_calls', amount: 1 }),
      expect.objectContaining({ by: 'ann', dimension: 'tool_calls', amount: 2 }),
    ]);
    expect(run.grant({ tool_calls: 1 })).toBe('resume-not-stopped');
  });

  test.each([1, 2, 5])('reopens a map at the items that did not fit, %i at once', (width) => {
    const flow = compiled({
      tools: TOOLS,
      budgets: { tool_calls: 3 },
      flow: {
        id: 'map',
        entry: 'each',
        nodes: [
          { id: 'each', type: 'map', over: [1, 2, 3, 4, 5, 6, 7], do: 'one', width, routes: [{ to: 'out' }] },
          { id: 'one', type: 'tool', tool: 'pay', params: {} },
          { id: 'out', type: 'terminal', output: '{{each.results}}' },
        ],
      },
    });
    const run = new Driven(flow).work();
    expect([run.code, run.made.length]).toEqual(['BUDGET_EXHAUSTED', 3]);
    expect(run.grant({ tool_calls: 2 })).toBeNull();
    run.work();
    expect([run.code, run.made.length]).toEqual(['BUDGET_EXHAUSTED', 5]);
    expect(run.grant({ tool_calls: 2 })).toBeNull();
    run.work();
    expect([run.code, run.made.length, unique(run.made)]).toEqual(['SUCCESS', 7, true]);
    expect(run.state?.outcome?.output).toEqual(Array.from({ length: 7 }, () => 'done'));
  });

  test('reopens branches, also inside a map', () => {
    const flow = compiled({
      tools: TOOLS,
      budgets: { tool_calls: 3 },
      flow: {
        id: 'nested',
        entry: 'each',
        nodes: [
          { id: 'each', type: 'map', over: [1, 2], do: 'fan', routes: [{ to: 'end' }] },
          { id: 'fan', type: 'parallel', branches: [{ to: 'a' }, { to: 'b' }] },
          { id: 'a', type: 'tool', tool: 'pay', params: {}, routes: [{ to: 'c' }] },
          { id: 'b', type: 'tool', tool: 'pay', params: {} },
          { id: 'c', type: 'tool', tool: 'pay', params: {} },
        ],
      },
    });
    const run = new Driven(flow).work();
    for (let more = 0; more < 9 && run.code === 'BUDGET_EXHAUSTED'; more++) {
      expect(run.grant({ tool_calls: 1 })).toBeNull();
      run.work();
    }
    expect([run.code, run.made.length, unique(run.made)]).toEqual(['SUCCESS', 6, true]);
  });

  test('of time lets a run go on, and the time between does not count', () => {
    const run = new Driven(steps(['look', 'keyed', 'look'], { wall_clock_seconds: 10 })).work(1).wait(10_001);
    expect([run.code, run.made.length]).toEqual(['TIMEOUT', 1]);
    run.at += 86_400_000;
    expect(run.grant({ wall_clock_seconds: 5 })).toBeNull();
    // The call that was cut off is made again under its own key.
    expect(run.open.map(({ key }) => key)).toEqual(['0#1']);
    expect(run.wait(4000).code).toBeNull();
    expect(run.work().code).toBe('SUCCESS');
  });

  test('is refused where a call was cut off that must not be made twice', () => {
    const run = new Driven(steps(['look', 'pay'], { wall_clock_seconds: 10 })).work(1).wait(10_001);
    expect([run.code, run.grant({ wall_clock_seconds: 5 })]).toEqual(['TIMEOUT', 'resume-undone']);
  });

  const cutOff = (tool: string, sent: Sent): Driven =>
    new Driven(steps(['look', tool, 'look'], { wall_clock_seconds: 10 }), sent).work(1).wait(10_001);

  test.each(['pay', 'undoable'])('makes the call that was cut off and not sent: %s', (tool) => {
    const run = cutOff(tool, 'no');
    expect([run.code, run.grant({ wall_clock_seconds: 5 })]).toEqual(['TIMEOUT', null]);
    expect(run.state?.threads.get('0')?.undo.map(({ key }) => key)).toEqual(tool === 'pay' ? [] : ['0#1']);
    expect([run.work().code, run.made, run.state?.usage]).toEqual([
      'SUCCESS',
      ['0#0', '0#1', '0#2'],
      expect.objectContaining({ toolCalls: 3 }),
    ]);
  });

  test('is refused where the call that was cut off was sent and undone', () => {
    const run = cutOff('undoable', 'yes').work();
    expect([run.code, run.grant({ wall_clock_seconds: 5 })]).toEqual(['TIMEOUT', 'resume-undone']);
  });

  test.each([
    ['reject', null, 'SUCCESS'],
    ['approve', 'resume-undone', 'TIMEOUT'],
  ])('follows a person who was asked about the call that was cut off: %s', (choice, refused, code) => {
    const run = cutOff('undoable', 'unknown').answer(choice).work();
    expect([run.code, run.grant({ wall_clock_seconds: 5 })]).toEqual(['TIMEOUT', refused]);
    expect(run.work().code).toBe(code);
  });

  test('is refused where nobody knows of the call that was cut off', () => {
    const run = cutOff('pay', 'unknown');
    expect([run.code, run.grant({ wall_clock_seconds: 5 })]).toEqual(['TIMEOUT', 'resume-undone']);
  });

  test('is refused if the end has undone something', () => {
    const flow = compiled({
      tools: TOOLS,
      budgets: { tool_calls: 1 },
      flow: {
        id: 'undone',
        entry: 'a',
        nodes: [
          { id: 'a', type: 'tool', tool: 'undoable', params: {}, routes: [{ to: 'each' }] },
          { id: 'each', type: 'map', over: [1], do: 'b', routes: [{ to: 'end' }] },
          { id: 'b', type: 'tool', tool: 'look', params: {} },
        ],
      },
    });
    const run = new Driven(flow).work();
    expect(run.events.map(({ type }) => type)).toContain('undo.requested');
    expect([run.code, run.grant({ tool_calls: 1 })]).toEqual(['BUDGET_EXHAUSTED', 'resume-undone']);
  });

  test('is refused if it is no amount, no budget, or by an agent; and of a run that did not stop at one', () => {
    const run = new Driven(steps(['look'], { tool_calls: 0, model_calls: 3 })).work();
    expect(run.code).toBe('BUDGET_EXHAUSTED');
    expect(run.grant({ tool_calls: 0 })).toBe('bad-budget');
    expect(run.grant({ tool_calls: -1 })).toBe('bad-budget');
    expect(run.grant({ cups: 1 })).toBe('bad-budget');
    expect(run.grant({ memory_writes: 1 })).toBe('bad-budget');
    expect(run.grant({ tool_calls: 1 })).toBeNull();
    expect(run.grant({ tool_calls: 1 })).toBe('resume-not-stopped');
    expect(run.work().code).toBe('SUCCESS');
    const cancelled = new Driven(steps(['look'], { tool_calls: 1 })).cancel();
    expect([cancelled.code, cancelled.grant({ tool_calls: 1 })]).toEqual(['USER_CANCEL', 'resume-not-stopped']);
  });
});

describe('in an engine, a grant', () => {
  const AGENT = { id: 'clerk', instructions: 'Pay.', tools: ['pay'] };
  const calls = [1, 2, 3, 4].map((n) => ({ name: 'pay', args: { n } }));
  const script = { agents: { clerk: [{ tools: calls, text: '' }, 'all paid'] }, tools: { pay: [{ result: 'paid' }] } };
  const bounds = { tools: TOOLS, budgets: { tool_calls: 2 }, boundary: { tools: { allow: ['pay'] } } };
  const NOTATIONS: { readonly [name: string]: object } = {
    flow: {
      agents: [AGENT],
      flow: { id: 'reply', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
    },
    workflow: { agents: [AGENT], workflow: { steps: [{ name: 'work', agent_name: 'clerk' }] } },
  };

  test.each(Object.keys(NOTATIONS))('makes the calls of one reply that fitted only once: %s', async (notation) => {
    const { engine } = scriptedEngine(script);
    try {
      const run = await engine.start(compiled({ ...bounds, ...NOTATIONS[notation] }), { input: 'go' });
      const stopped = await engine.settled(run);
      expect(stopped).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 2 } });
      await engine.resume(run, { budget: { tool_calls: 2 }, by: 'ann' });
      const report = await engine.settled(run);
      expect(report).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'all paid', error: null });
      expect(report.receipts.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
      expect(report.granted).toEqual([{ by: 'ann', dimension: 'tool_calls', amount: 2 }]);
      await expect(engine.resume(run, { budget: { tool_calls: 2 }, by: 'ann' })).rejects.toMatchObject({
        code: 'resume-not-stopped',
      });
    } finally {
      await engine.close();
    }
  });
});

const EXAMPLES = [
  'mapreduce.team',
  'magentic.team',
  'market-report.staged',
  'debate.staged',
  'plan-and-do.loop',
  'extract-validate-decide.workflow',
  'gather.flow',
];

describe('an example that is stopped at every model call', () => {
  test.each(EXAMPLES)('ends as it does without stops: %s', async (name) => {
    const document = read(`${name}.yaml`) as { readonly budgets?: object; readonly loop?: object };
    const script = read(`${name.split('.')[0]}.script.yaml`) as Script;
    const grants: number[] = [];
    const play = async (limit: object): Promise<Report> => {
      const { engine } = scriptedEngine(script);
      const loop = document.loop === undefined ? {} : { loop: { ...document.loop, escalation: { expansions: 0 } } };
      const flow = compiled({ ...document, ...loop, budgets: { ...document.budgets, ...limit } });
      const run = await engine.start(flow, { input: 'a question' });
      let report = await engine.settled(run);
      for (; report.code === 'BUDGET_EXHAUSTED' && grants.length < 50; grants.push(1)) {
        await engine.resume(run, { budget: { model_calls: 1 }, by: 'ann' });
        report = await engine.settled(run);
      }
      await engine.close();
      return report;
    };
    const whole = await play({});
    expect(grants).toEqual([]);
    const stopped = await play({ model_calls: 1 });
    expect(grants.length).toBeGreaterThan(0);
    expect(stopped).toMatchObject({ state: 'completed', output: whole.output, error: null });
    expect(stopped.usage.modelCalls).toBeLessThanOrEqual(whole.usage.modelCalls);
  });
});

test('a process that dies between the grant and the call loses nothing, and the call is made once', async () => {
  const made: string[] = [];
  const store = openMemory();
  const flow = compiled(read('stamps.flow.yaml') as object);
  const engineOf = (hangs: boolean): ReturnType<typeof createRuntime> =>
    createRuntime({
      store: { ...store, close: async () => undefined },
      pickUp: false,
      performer: {
        perform: async ({ command, signal }) => {
          if (hangs)
            return new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(new Error('died')), { once: true });
            });
          made.push(command.key);
          return { ok: true, value: 'posted' };
        },
      },
    });
  const first = engineOf(false);
  const run = await first.start(flow, { input: 'go' });
  expect(await first.settled(run)).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 3 } });
  await first.close();
  const second = engineOf(true);
  await second.resume(run, { budget: { tool_calls: 2 }, by: 'ann' });
  await second.close();
  expect(made).toHaveLength(3);
  const third = engineOf(false);
  await expect(third.resume(run, { budget: { tool_calls: 2 }, by: 'ann' })).rejects.toMatchObject({
    code: 'resume-not-stopped',
  });
  await third.resume(run);
  expect(await third.settled(run)).toMatchObject({ code: 'SUCCESS', granted: [{ amount: 2 }] });
  expect([made.length, unique(made)]).toEqual([5, true]);
  await third.close();
  await store.close();
});

function read(name: string): unknown {
  return parse(readFileSync(new URL(`../../examples/${name}`, import.meta.url), 'utf8'));
}
