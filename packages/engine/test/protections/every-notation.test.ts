/** Each protection in each notation that it can act in: first switched off, then on. §flow/protection-mechanism-catalog */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Script } from '@sluice-internal/testing';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Engine, Report } from '@sluice-internal/library';
import { flowOf } from './run-flow.ts';

const AGENTS = [
  { id: 'ann', tools: ['look'] },
  { id: 'bob', tools: ['look'] },
];
const MODEL = { provider: 'openai', model: 'big', price: { input: 1, output: 1 } };
const COMMON = {
  models: { big: MODEL },
  tools: { look: { description: 'Looks.', effect: 'read', input: { type: 'object' } } },
  agents: AGENTS.map((agent) => ({ ...agent, model: 'big' })),
  boundary: { tools: { allow: ['look'] } },
};
const { agents: _, ...TEAM_COMMON } = COMMON;
const TEAM_AGENTS = AGENTS.map(({ id }) => ({
  Name: id,
  Instructions: 'Work.',
  Model: 'big',
  Plugins: ['FileSystem'],
}));

/** One agent that answers once. The first two declare two retries of its call. */
const ONE: { readonly [notation: string]: object } = {
  flow: {
    ...COMMON,
    flow: {
      id: 'f',
      entry: 'a',
      nodes: [
        { id: 'a', type: 'agent', agent: 'ann', retry: { max_attempts: 3, backoff_ms: 0 }, routes: [{ to: 'end' }] },
      ],
    },
  },
  workflow: {
    ...COMMON,
    workflow: { steps: [{ name: 's', agent_id: 'ann', error_mode: { Retry: { max_retries: 2 } } }] },
  },
  loop: { ...COMMON, loop: { agent: 'ann' } },
  team: { ...TEAM_COMMON, Orchestration: { Agents: TEAM_AGENTS.slice(0, 1), Selection: { Type: 'sequential' } } },
  staged: { ...COMMON, staged: { sop: [{ id: 's', agent: 'ann' }] } },
};

/** Two agents that can come round to each other. */
const ROUND: { readonly [notation: string]: object } = {
  flow: {
    ...COMMON,
    flow: {
      id: 'f',
      entry: 'a',
      max_iterations: 8,
      nodes: [
        { id: 'a', type: 'agent', agent: 'ann', routes: [{ to: 'b' }] },
        { id: 'b', type: 'agent', agent: 'bob', routes: [{ to: 'a' }] },
      ],
    },
  },
  team: {
    ...TEAM_COMMON,
    Orchestration: { Agents: TEAM_AGENTS, Selection: { Type: 'roundrobin' }, Termination: { MaxIterations: 8 } },
  },
  staged: { ...COMMON, budgets: { model_calls: 8 }, staged: { peers: { agents: ['ann', 'bob'] } } },
};

const engineFor = (script: Script): Engine => createEngine({ journal: openMemory(), script });

async function runOn(engine: Engine, document: object, protections: object): Promise<Report> {
  const { flow, diagnostics } = compile({ ...document, protections });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return engine.settled(await engine.start(flow as NonNullable<typeof flow>, { input: 'Find it.' }));
}

async function run(document: object, protections: object, script: Script): Promise<Report> {
  const engine = engineFor(script);
  const report = await runOn(engine, document, protections);
  await engine.close();
  return report;
}

const failures = ({ decisions }: Report): readonly string[] => decisions.map(({ failure }) => failure);

describe.each(Object.entries(ONE))('%s', (name, document) => {
  const tool = name === 'team' ? 'list_directory' : 'look';
  const args: Json = name === 'team' ? { path: '.' } : {};
  const call = { text: '', tools: [{ name: tool, args }] };

  test('loop', async () => {
    const script: Script = { agents: { ann: [call, call, call, 'found'] }, tools: { [tool]: [{ result: 'nothing' }] } };
    const off = await run(document, { loop: false }, script);
    expect(off.usage.toolCalls).toBe(3);
    expect(failures(off)).not.toContain('tool_loop');
    const on = await run(document, { loop: { identical: 2, window: 3 } }, script);
    expect(on.usage.toolCalls).toBe(1);
    expect(failures(on)).toContain('tool_loop');
  });

  test('breaker', async () => {
    const calls = async (protections: object): Promise<number> => {
      const engine = engineFor({ agents: { ann: [{ error: 'rate_limit', message: '429' }] } });
      await runOn(engine, document, protections);
      const second = await runOn(engine, document, protections);
      await engine.close();
      return second.usage.modelCalls;
    };
    expect(await calls({ breaker: false })).toBeGreaterThan(0);
    expect(await calls({ breaker: { provider_errors: 1, cooldown: 3600 } })).toBe(0);
  });

  test('retry_budget', async () => {
    const script: Script = { agents: { ann: [{ error: 'transient', message: '503' }, 'found'] } };
    const off = await run(document, { retry_budget: false, breaker: false }, script);
    expect(off).toMatchObject({ state: 'completed', decisions: [{ failure: 'provider_error', action: 'retry' }] });
    const on = await run(document, { retry_budget: { share: 0, burst: 0 }, breaker: false }, script);
    // The budget never refuses a retry that a document declares.
    const declares = name === 'flow' || name === 'workflow';
    expect(on).toMatchObject(
      declares ? { state: 'completed', usage: { modelCalls: 2 } } : { state: 'failed', usage: { modelCalls: 1 } },
    );
  });

  test('velocity', async () => {
    const script: Script = { agents: { ann: ['found'] } };
    expect(await run(document, { velocity: false }, script)).toMatchObject({ state: 'completed' });
    expect(await run(document, { velocity: { tokens_per_minute: 1, on_trip: 'stop' } }, script)).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
      usage: { modelCalls: 0 },
    });
  });
});

describe.each(Object.entries(ROUND))('%s', (name, document) => {
  const to = (peer: string, words: string) =>
    name === 'staged' ? JSON.stringify({ handoff: peer, message: words }) : words;

  test('deadlock', async () => {
    const script: Script = {
      agents: { ann: [to('bob', 'It is up to you, I think.')], bob: [to('ann', 'No, it is up to you.')] },
    };
    const off = await run(document, { deadlock: false, hops: false }, script);
    expect(failures(off)).not.toContain('deadlock');
    expect(off.usage.modelCalls).toBe(8);
    const on = await run(document, { deadlock: { on_trip: 'end' }, hops: false }, script);
    expect(on).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE' });
    expect(failures(on)).toContain('deadlock');
    expect(on.usage.modelCalls).toBeLessThan(8);
  });

  test('hops', async () => {
    const words = (peer: string, who: string) => Array.from({ length: 5 }, (_, n) => to(peer, `${who} has fact ${n}.`));
    const script: Script = { agents: { ann: words('bob', 'Ann'), bob: words('ann', 'Bob') } };
    const off = await run(document, { deadlock: false, hops: false }, script);
    expect(off.usage.modelCalls).toBe(8);
    const on = await run(document, { deadlock: false, hops: 2 }, script);
    expect(on.usage.modelCalls).toBe(3);
    expect(failures(on)).toContain('deadlock');
  });
});

describe('calls of different branches do not repeat each other', () => {
  const agents = [{ id: 'clerk', instructions: 'Look.', tools: ['books.find'] }];
  const tools = { 'books.find': { effect: 'read' } };
  const look = { id: 'look', type: 'agent', agent: 'clerk', input: { task: 'Look.' } };
  const each = (width: number) => ({
    flow: {
      id: 'many',
      entry: 'm',
      nodes: [{ id: 'm', type: 'map', over: [1, 2, 3, 4, 5, 6], width, do: 'look' }, look],
    },
  });
  const plan = `{"tasks": [${['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `{"id": "${id}", "brief": "Look."}`).join()}]}`;
  const staged = { staged: { plan: { agent: 'planner' }, workers: { agent: 'clerk' } } };
  const played = async (document: object, result: Entry) => {
    const script = {
      agents: {
        planner: [plan],
        clerk: [
          { when: 'input.contains("shelf")', text: 'I looked.' },
          { tools: [{ name: 'books.find', args: { q: 'Emma' } }] },
        ],
      },
      tools: { 'books.find': [result] },
    };
    const engine = createEngine({ journal: openMemory(), script });
    const flow = flowOf({ agents: [...agents, { id: 'planner' }], tools, ...document });
    const report = await engine.settled(await engine.start(flow, { input: 'Look.' }));
    await engine.close();
    return report;
  };
  type Entry = { readonly result: string } | { readonly error: 'fatal'; readonly message: string };
  const cases: readonly [string, object][] = [
    ['items one after another', each(1)],
    ['items at once', each(6)],
    ['workers', staged],
  ];
  test.each(cases)('%s', async (_, document) => {
    for (const entry of [{ result: 'on the shelf' }, { error: 'fatal', message: 'the shelf is locked' }] as const) {
      const { decisions, usage } = await played(document, entry);
      expect(decisions).toEqual([]);
      expect(usage.toolCalls).toBe(6);
    }
  });
});
