/** A turn with tools and a parallel node that are retried wait between their attempts, longer each time. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '@sluice-internal/library';
import { compiled, playOn } from '../../../../test/support/harness.ts';

const down = { error: 'transient', message: '503' } as const;

test.each([
  [
    'a turn with tools',
    `agents: [{ id: bot, tools: [t.x] }]
tools: { t.x: { effect: read } }
budgets: { tool_calls: 3 }
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot, retry: { max_attempts: 3, backoff_ms: 100, multiplier: 3 } }] }`,
  ],
  [
    'a parallel node',
    `agents: [{ id: bot }]
flow:
  { id: f, entry: p, nodes: [
    { id: p, type: parallel, branches: [{ to: a }, { to: b }], retry: { max_attempts: 3, backoff_ms: 100, multiplier: 3 } },
    { id: a, type: agent, agent: bot }, { id: b, type: set, values: { x: 1 } }] }`,
  ],
  [
    'a map',
    `agents: [{ id: bot }]
flow:
  { id: f, entry: m, nodes: [
    { id: m, type: map, over: [1], do: a, retry: { max_attempts: 3, backoff_ms: 100, multiplier: 3 } },
    { id: a, type: agent, agent: bot }] }`,
  ],
])('%s', async (_, source) => {
  const engine = createEngine({ journal: openMemory(), script: { agents: { bot: [down, down, 'fine'] } } });
  const { report, events } = await playOn(engine, compiled(source), { input: { message: 'go' } });
  expect(report).toMatchObject({ state: 'completed', code: 'SUCCESS' });
  const asked = events.flatMap((event) =>
    event.type === 'effect.requested' && event.kind === 'model' ? [event.at] : [],
  );
  const [first = 0, second = 0, third = 0] = asked;
  expect(asked).toHaveLength(3);
  expect(second - first).toBeGreaterThanOrEqual(100);
  expect(third - second).toBeGreaterThanOrEqual(300);
});
