/** The deadlock monitor: first the damage without it, then the protection. §flow/deadlock-monitor */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import type { Report } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';

const AGENTS = [
  { id: 'clerk', instructions: 'Sort.' },
  { id: 'expert', instructions: 'Decide.' },
];
/** Two agents that pass a case to each other, in three notations. */
const NOTATIONS = {
  flow: {
    agents: AGENTS,
    budgets: { model_calls: 20 },
    flow: {
      id: 'desk',
      max_iterations: 50,
      entry: 'clerk',
      nodes: [
        { id: 'clerk', type: 'agent', agent: 'clerk', routes: [{ to: 'expert' }] },
        {
          id: 'expert',
          type: 'agent',
          agent: 'expert',
          routes: [{ when: "expert.output.contains('DONE')", to: 'end' }, { to: 'clerk' }],
        },
      ],
    },
  },
  team: {
    budgets: { model_calls: 20 },
    Orchestration: {
      Agents: [
        { Name: 'clerk', Instructions: 'Sort.' },
        { Name: 'expert', Instructions: 'Decide.' },
      ],
      Selection: { Type: 'roundrobin' },
      Termination: { MaxIterations: 20 },
    },
  },
} as const;
const STUCK: Script = {
  agents: { clerk: ['Please decide this case.'], expert: ['I need more information about it.'] },
};
const BUSY: Script = {
  agents: {
    clerk: Array.from({ length: 12 }, (_, index) => `Here is part number ${index} of the file.`),
    expert: Array.from(
      { length: 12 },
      (_, index) => `Thank you, I read part ${index} now.${index === 5 ? ' DONE' : ''}`,
    ),
  },
};

async function run(document: object, script: Script): Promise<Report & { readonly types: readonly string[] }> {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const store = openMemory();
  const engine = createEngine({ journal: store, script });
  const report = await engine.settled(await engine.start(flow as NonNullable<typeof flow>, { input: 'case 7' }));
  const types: string[] = [];
  for await (const event of engine.events(report.run, { live: false })) types.push(event.type);
  expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
  await engine.close();
  return { ...report, types };
}

describe.each(Object.entries(NOTATIONS))('%s', (_, document) => {
  test('off: the agents talk until the budget is used up, and nothing is recorded', async () => {
    const report = await run({ ...document, protections: { deadlock: false } }, STUCK);
    expect(report.usage.modelCalls).toBe(20);
    expect(report.decisions).toEqual([]);
  });

  test('not declared: a suspicion is an event and a decision; the run goes on', async () => {
    const report = await run(document, STUCK);
    expect(report.usage.modelCalls).toBe(20);
    expect(report.types).toContain('deadlock.suspected');
    expect(report.decisions[0]).toMatchObject({ failure: 'deadlock', action: 'surface' });
  });

  test('end: the run stops', async () => {
    const report = await run({ ...document, protections: { deadlock: { on_trip: 'end' } } }, STUCK);
    expect(report).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE' });
    expect(report.usage.modelCalls).toBeLessThanOrEqual(4);
    expect(report.path).toHaveLength(report.usage.modelCalls);
    expect(report.error?.node).toBeOneOf(['clerk', 'expert']);
    expect(report.decisions).toMatchObject([{ failure: 'deadlock', action: 'abort', mast: 'FM-2.5' }]);
  });

  test('escalate: a person is asked, and lets the agents go on', async () => {
    const protections = { deadlock: { on_trip: 'escalate' } };
    const report = await run({ ...document, protections }, STUCK);
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ choices: ['continue', 'stop'] }] });
    const more = await run({ ...document, protections }, { ...STUCK, approvals: { deadlock: ['continue', 'stop'] } });
    expect(more).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE' });
    expect(more.usage.modelCalls).toBeGreaterThan(report.usage.modelCalls);
    expect(more.decisions.map(({ action }) => action)).toEqual(['escalate', 'escalate', 'abort']);
    expect(more.path).toHaveLength(more.usage.modelCalls);
  });

  test('agents that bring new facts are not disturbed', async () => {
    const report = await run({ ...document, protections: { deadlock: { on_trip: 'end' } } }, BUSY);
    expect(report.decisions).toEqual([]);
    expect(report.usage.modelCalls).toBeGreaterThan(10);
  });

  test('hops: a handoff beyond the limit is not made', async () => {
    const report = await run({ ...document, protections: { hops: 5, deadlock: { on_trip: 'end' } } }, BUSY);
    expect(report).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE', usage: { modelCalls: 6 } });
    const slow = await run({ ...document, protections: { hops: 50 } }, STUCK);
    expect(slow.decisions[0]).toMatchObject({ action: 'surface' });
    const asked = await run({ ...document, protections: { hops: 5 } }, BUSY);
    expect(asked).toMatchObject({ state: 'suspended', usage: { modelCalls: 6 }, decisions: [{ action: 'escalate' }] });
    expect(await run({ ...document, protections: { hops: false } }, BUSY)).toMatchObject({ state: 'completed' });
  });

  test('hops count on after a suspicion that is only recorded, and without the monitor', async () => {
    for (const deadlock of [{}, { deadlock: false }]) {
      const report = await run({ ...document, protections: { hops: 5, ...deadlock } }, STUCK);
      expect(report).toMatchObject({ state: 'suspended', usage: { modelCalls: 6 } });
      expect(report.decisions.at(-1)).toMatchObject({ failure: 'deadlock', action: 'escalate' });
      expect(report.decisions.some(({ action }) => action === 'surface')).toBe(!('deadlock' in deadlock));
    }
  });
});

test('a flow without a cycle of agents has no monitor', () => {
  const { flow } = compile({
    agents: AGENTS,
    flow: {
      id: 'line',
      entry: 'a',
      nodes: [
        { id: 'a', type: 'agent', agent: 'clerk', routes: [{ to: 'b' }] },
        { id: 'b', type: 'agent', agent: 'expert', routes: [{ to: 'end' }] },
      ],
    },
  });
  expect(flow?.meters).not.toHaveProperty('deadlock');
});
