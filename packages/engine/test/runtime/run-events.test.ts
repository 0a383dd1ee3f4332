/** Public events: what user interfaces see of a run. They follow from the journal alone. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { readRun } from '@sluice-internal/engine/journal';
import { createNarrator } from '@sluice-internal/engine/report';
import type { StoryEvent } from '@sluice-internal/wire';
import type { Script } from '../../../library/src/host/scripted/script.ts';

const DOCUMENT = `
agents:
  - { id: clerk, instructions: "Look the order up.", tools: [orders.get] }
tools:
  orders.get: { effect: read, trust: trusted }
  pay: { effect: financial, compensate: pay.back }
  pay.back: { effect: financial }
  fail: { effect: write }
flow:
  id: desk
  entry: look
  nodes:
    - { id: look, type: agent, agent: clerk, input: { task: "order {{event.payload.order}}" }, routes: [{ to: gate }] }
    - { id: gate, type: approval, message: "Pay?", routes: [{ when: "approvals.gate == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: pay, params: { amount: 5 }, routes: [{ to: both }] }
    - id: both
      type: parallel
      branches: [{ to: quick }, { to: slow }]
      routes: [{ to: last }]
    - { id: quick, type: agent, agent: clerk, input: { task: quick }, routes: [{ to: end }] }
    - { id: slow, type: agent, agent: clerk, input: { task: slow }, routes: [{ to: end }] }
    - { id: last, type: tool, tool: fail, params: {} }
`;
const SCRIPT = {
  agents: {
    clerk: [
      { text: '', tools: [{ name: 'orders.get', args: { id: 'A-1' } }] },
      'found it',
      { text: 'quick', delayMs: 100 },
      { text: 'slow', delayMs: 3000 },
    ],
  },
  tools: {
    'orders.get': [{ result: { total: 5 } }],
    pay: [{ result: { paid: true } }],
    fail: [{ error: 'fatal', message: 'broken' }],
    'pay.back': [{ result: { done: true } }],
  },
  approvals: { gate: 'approve' },
} as const;

async function story(document = DOCUMENT, script: Script = SCRIPT): Promise<readonly StoryEvent[]> {
  const { flow, diagnostics } = compile(document);
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const journal = openMemory();
  const engine = createEngine({ journal, script });
  const run = await engine.start(flow, { input: { order: 'A-1' } });
  await engine.settled(run);
  const { program, events } = await readRun(journal.journal, run);
  await engine.close();
  const narrate = createNarrator(program);
  return events.flatMap((event) => narrate(event));
}

test('each thing that a person would name is one event, in order', async () => {
  const events = await story();
  const named = events.map((event) => `${event.type} ${'node' in event ? event.node : ''}`.trim());
  expect(named.slice(0, 20)).toEqual([
    'run.started',
    'node.started look',
    'model.started look',
    'model.finished look',
    'tool.proposed look',
    'call.judged look',
    'tool.started look',
    'tool.finished look',
    'model.started look',
    'model.finished look',
    'node.finished look',
    'route.taken look',
    'node.started gate',
    'question.asked gate',
    'question.answered gate',
    'node.finished gate',
    'route.taken gate',
    'node.started pay',
    'tool.started pay',
    'tool.finished pay',
  ]);
  expect(named.slice(-5)).toEqual([
    'tool.failed last',
    'node.failed last',
    'undo.started pay',
    'undo.finished pay',
    'run.ended',
  ]);
});

test('events carry arguments, results, questions and durations of their own branch', async () => {
  const events = await story();
  const of = (type: StoryEvent['type'], node: string) =>
    events.find((event) => event.type === type && 'node' in event && event.node === node);
  expect(of('tool.finished', 'look')).toMatchObject({ tool: 'orders.get', args: { id: 'A-1' }, result: { total: 5 } });
  expect(of('tool.proposed', 'look')).toMatchObject({ agent: 'clerk', tool: 'orders.get' });
  expect(of('question.asked', 'gate')).toMatchObject({ message: 'Pay?', choices: ['approve', 'reject'] });
  expect(of('question.answered', 'gate')).toMatchObject({ choice: 'approve' });
  expect(of('node.finished', 'look')).toMatchObject({ output: 'found it' });
  expect(of('node.finished', 'quick')).toMatchObject({ durationMs: 100 });
  expect(of('node.finished', 'slow')).toMatchObject({ durationMs: 3000 });
  expect(of('undo.started', 'pay')).toMatchObject({ tool: 'pay.back' });
  expect(events.at(-1)).toMatchObject({ type: 'run.ended', state: 'failed', code: 'UNAVAILABLE_DEP' });
});

test('a reply that the flow reads as data is an object in `node.finished`, any other reply is a text', async () => {
  const document = `
agents:
  - { id: sorter, instructions: "Sort.", output: { type: object, properties: { kind: { type: string } } } }
  - { id: writer, instructions: "Write JSON." }
flow:
  id: desk
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: sorter, input: { task: sort }, routes: [{ to: write }] }
    - { id: write, type: agent, agent: writer, input: { task: write }, routes: [{ to: end }] }
`;
  const events = await story(document, { agents: { sorter: ['Here: {"kind": "refund"}'], writer: ['{"a": 1}'] } });
  const outputs = events.flatMap((event) => (event.type === 'node.finished' ? [event.output] : []));
  expect(outputs).toEqual([{ kind: 'refund' }, '{"a": 1}']);
});

test('sequence numbers never go back, so a reader can resume', async () => {
  const numbers = (await story()).map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
});

test('a call that is refused is an event with its reason', async () => {
  const { flow } = compile(`
agents:
  - { id: clerk, tools: [orders.get] }
tools:
  orders.get: { effect: read, input: { type: object, properties: { id: { type: string } }, required: [id] } }
flow:
  id: desk
  entry: look
  nodes: [{ id: look, type: agent, agent: clerk }]
`);
  const journal = openMemory();
  const script = { agents: { clerk: [{ text: '', tools: [{ name: 'orders.get', args: {} }] }, 'done'] } };
  const engine = createEngine({ journal, script });
  const run = await engine.start(flow as NonNullable<typeof flow>, { input: {} });
  await engine.settled(run);
  const { program, events } = await readRun(journal.journal, run);
  await engine.close();
  const narrate = createNarrator(program);
  const refused = events.flatMap((event) => narrate(event)).filter(({ type }) => type === 'tool.refused');
  expect(refused).toMatchObject([{ tool: 'orders.get', args: {}, node: 'look' }]);
  expect(refused[0]).toHaveProperty('reason', expect.stringContaining('id'));
});

test('a node before one that the budget refuses is finished, not failed', async () => {
  const document = `
agents: [{ id: bot, instructions: Go on. }]
flows:
  inner:
    entry: one
    nodes:
      - { id: one, type: agent, agent: bot, routes: [{ to: two }] }
      - { id: two, type: agent, agent: bot }
flow:
  id: outer
  entry: sub
  nodes:
    - { id: sub, type: flow, flow: inner, budget: { model_calls: 1 } }
`;
  const events = await story(document, { agents: { bot: ['x'] } });
  const ends = events.flatMap((event) =>
    event.type === 'node.finished' || event.type === 'node.failed' ? [`${event.type} ${event.node}`] : [],
  );
  expect(ends).toEqual(['node.finished sub/one', 'node.failed sub']);
});

test('a node before one whose input cannot be evaluated is finished', async () => {
  const document = `
agents: [{ id: bot, instructions: Go on. }]
flow:
  id: outer
  entry: one
  nodes:
    - { id: one, type: agent, agent: bot, routes: [{ to: two }] }
    - { id: two, type: agent, agent: bot, input: { task: "{{int(one.output) + 1}}" } }
`;
  const events = await story(document, { agents: { bot: ['x'] } });
  const ends = events.flatMap((event) =>
    event.type === 'node.finished' || event.type === 'node.failed' ? [`${event.type} ${event.node}`] : [],
  );
  expect(ends).toEqual(['node.finished one', 'node.failed two']);
});

test('a call that was made and failed is not refused', async () => {
  const events = await story(DOCUMENT, {
    ...SCRIPT,
    tools: { ...SCRIPT.tools, 'orders.get': [{ error: 'fatal', message: 'connection refused' }] },
  });
  const types = events.map(({ type }) => type);
  expect(types).toContain('tool.failed');
  expect(types).not.toContain('tool.refused');
});

test('a worker that calls a tool is finished after its last reply', async () => {
  const events = await story(
    `
agents: [{ id: planner }, { id: clerk, tools: [orders.get] }]
tools: { orders.get: { effect: read } }
staged: { plan: { agent: planner }, workers: { agent: clerk } }
`,
    {
      agents: {
        planner: ['{"tasks": [{"id": "one", "brief": "Look."}]}'],
        clerk: [{ tools: [{ name: 'orders.get', args: {} }] }, 'found it'],
      },
      tools: { 'orders.get': [{ result: { total: 5 }, delayMs: 2000 }] },
    },
  );
  const finished = events.filter((event) => event.type === 'node.finished' && event.node === 'workers/one');
  expect(finished).toMatchObject([{ durationMs: 2000, output: 'found it' }]);
});
