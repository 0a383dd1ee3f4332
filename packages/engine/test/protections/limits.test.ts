/** Depth and spawn in every notation, and protections of a single stage. §flow/hop-and-recursion-limit */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { AGENTS as STAGE_AGENTS, GOOD, ONE, SUPERVISOR, actions, play } from '../../../notations/test/staged/drive.ts';

const found = (document: object) =>
  compile(document)
    .diagnostics.filter(({ code }) => ['bad-value', 'unused-field', 'not-enforced'].includes(code))
    .map(({ severity, code, message }) => `${severity} ${code}: ${message.replace(/^[\w.[\]]+: /, '')}`);

describe('depth', () => {
  const flow = (to: string | null) => ({
    id: 'x',
    entry: 'a',
    nodes: [
      to === null
        ? { id: 'a', type: 'terminal', output: 'deep' }
        : { id: 'a', type: 'flow', flow: to, input: {}, routes: [{ to: 'end' }] },
    ],
  });
  const nested = (protections: object) => ({
    protections,
    flows: { one: flow('two'), two: flow('three'), three: flow(null) },
    flow: { ...flow('one'), id: 'main' },
  });
  test('off: sub-flows nest as the author likes; on: a level too many is refused', () => {
    expect(found(nested({}))).toEqual([]);
    expect(found(nested({ depth: 4 }))).toEqual([]);
    expect(found(nested({ depth: 3 }))).toEqual([
      "error bad-value: flow node 'a' makes 4 levels of flows, and 3 are allowed: main → one → two → three",
    ]);
  });
  test('sub-graphs of a team', () => {
    const leaf = { Nodes: [{ Id: 'n', Agent: 'A', Terminal: true }], Edges: [] };
    const inner = {
      Nodes: [{ Id: 'n', SubGraphId: 'g', Terminal: true }],
      Edges: [],
      SubGraphs: { g: { Graph: leaf } },
    };
    const team = (protections: object) => ({
      protections,
      Orchestration: {
        Agents: [{ Name: 'A', Instructions: 'Talk.' }],
        Selection: { Type: 'graph', Graph: { ...inner, SubGraphs: { g: { Graph: inner } } } },
      },
    });
    expect(found(team({ depth: 3 }))).toEqual([]);
    expect(found(team({ depth: 2 }))).toEqual(['error bad-value: graphs are nested more than 1 deep']);
  });
});

describe('spawn', () => {
  const team = (protections: object) => ({
    protections,
    Orchestration: {
      Agents: ['S', 'M', 'R'].map((Name) => ({ Name, Instructions: 'Work.' })),
      Selection: { Type: 'mapreduce', MapReduce: { Splitter: 'S', Mapper: 'M', Reducer: 'R', MaxSplitterRetries: 1 } },
    },
  });
  const items = JSON.stringify({ items: Array.from({ length: 30 }, (_, index) => index) });
  async function run(protections: object, splits: readonly string[]) {
    const { flow } = compile(team(protections));
    const engine = createEngine({
      journal: openMemory(),
      script: { agents: { S: [...splits], M: ['ok'], R: ['Done.'] } },
    });
    const report = await engine.settled(await engine.start(flow as CompiledFlow, { input: 'Split it.' }));
    await engine.close();
    return report;
  }
  test('off: a splitter starts as many mappers as it likes', async () => {
    expect(await run({}, [items])).toMatchObject({ state: 'completed', usage: { modelCalls: 32 } });
  });
  test('on: a longer list is corrected, and no mapper is started for it', async () => {
    expect(await run({ spawn: { max: 20 } }, [items, '{"items": [1, 2]}'])).toMatchObject({
      state: 'completed',
      usage: { modelCalls: 5 },
    });
    const report = await run({ spawn: { max: 20 } }, [items]);
    expect(report).toMatchObject({ state: 'failed', usage: { modelCalls: 2 } });
    expect(report.error?.message).toContain('a list of at most 20 items');
  });
});

test('a limit of something that a notation does not have is a warning', () => {
  const agents = [{ id: 'a' }];
  const notations = {
    workflow: { agents, workflow: { steps: [{ name: 's', agent_id: 'a' }] } },
    loop: { agents, loop: { agent: 'a' } },
  };
  for (const document of Object.values(notations))
    expect(found({ ...document, protections: { depth: 3, spawn: { max: 3 } } })).toEqual([
      'warning unused-field: `protections.depth` limits nothing here',
      'warning unused-field: `protections.spawn` limits nothing here',
    ]);
  expect(found({ agents: STAGE_AGENTS, staged: SUPERVISOR, protections: { depth: 3, spawn: { max: 3 } } })).toEqual([]);
});

describe('a protection that cannot act', () => {
  const agents = [{ id: 'a' }, { id: 'b' }];
  const node = (id: string, to: string) => ({ id, type: 'agent', agent: id, routes: [{ to }] });
  const line = {
    flow: { agents, flow: { id: 'f', entry: 'a', nodes: [node('a', 'b'), node('b', 'end')] } },
    workflow: {
      agents,
      workflow: {
        steps: [
          { name: 's', agent_id: 'a' },
          { name: 't', agent_id: 'b' },
        ],
      },
    },
    loop: { agents, loop: { agent: 'a' } },
    team: {
      Orchestration: {
        Agents: [{ Name: 'a' }, { Name: 'b' }],
        Selection: { Type: 'sequential' },
      },
    },
    staged: { agents: STAGE_AGENTS, staged: SUPERVISOR },
  };
  test.each(Object.entries(line))('%s: a monitor without a cycle of agents is a warning', (_, document) => {
    expect(found({ ...document, protections: { hops: 3, deadlock: { on_trip: 'end' } } })).toEqual([
      'warning unused-field: `protections.hops` watches nothing here',
      'warning unused-field: `protections.deadlock` watches nothing here',
    ]);
  });

  test('peers hand on, and a stage with a timeout can be stuck: no warning', () => {
    const protections = { hops: 3, deadlock: { on_trip: 'end' } };
    const peers = { peers: { agents: ['planner', 'worker'] } };
    expect(found({ agents: STAGE_AGENTS, staged: peers, protections })).toEqual([]);
    const timed = { ...SUPERVISOR, plan: { ...SUPERVISOR.plan, timeout: 5 } };
    expect(found({ agents: STAGE_AGENTS, staged: timed, protections: { deadlock: { on_trip: 'end' } } })).toEqual([]);
  });

  test.each(Object.entries(line))('%s: the table can be changed in staged only', (name, document) => {
    const protections = { on_failure: { provider_error: { retries: 1 } } };
    expect(found({ ...document, protections })).toEqual(
      name === 'staged' ? [] : ['error bad-value: `protections.on_failure` has no effect in this notation'],
    );
  });
});

describe('protections of a stage', () => {
  const withOwn = (stage: string, protections: object) => ({
    agents: STAGE_AGENTS,
    staged: { ...SUPERVISOR, [stage]: { ...SUPERVISOR[stage as 'plan'], protections } },
  });
  test.each([
    ['validate', { tier: 'regulated' }, '`tier` has no effect on `validate`'],
    ['workers', { depth: 3 }, '`depth` has no effect on `workers`'],
    ['workers', { hops: 3 }, '`hops` has no effect on `workers`'],
    ['finalize', { spawn: { max: 3 } }, '`spawn` has no effect on `finalize`'],
  ])('%s cannot have %j', (stage, protections, message) => {
    expect(found(withOwn(stage, protections))).toEqual([`error bad-value: ${message}`]);
  });
  test('names are checked, with the nearest one', () => {
    const models = { cheap: { provider: 'openai', model: 'x', price: { input: 1, output: 1 } } };
    const { diagnostics } = compile({
      ...withOwn('finalize', {
        breaker: { fallback: { model: 'chep' } },
        velocity: { agents: { writr: { tokens_per_minute: 5 } } },
      }),
      models,
    });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
      { code: 'unknown-model', help: 'Did you mean `cheap`?' },
      { code: 'unknown-agent', help: 'Did you mean `writer`?' },
    ]);
  });
  test('spawn of the plan', async () => {
    const { report } = await play(withOwn('plan', { spawn: { max: 1 } }), { agents: GOOD });
    expect(report.error?.message).toContain('at most 1 may be started');
  });
  test('retries of a provider by stage', async () => {
    const down = { error: 'transient' as const, message: '503' };
    const agents = { ...GOOD, planner: [ONE], writer: [down, 'Done.'] };
    expect((await play({ staged: SUPERVISOR }, { agents })).report.code).toBe('SUCCESS');
    const { report } = await play(withOwn('finalize', { on_failure: { provider_error: { retries: 0 } } }), { agents });
    expect(report).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
    expect(actions(report)).toEqual(['provider_error: abort']);
  });
});
