/** `engine.state`, the public events that a page needs, and readers that come back. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '../../src/index.ts';
import type { CreateEngineOptions, Run, RunEvent } from '../../src/index.ts';

const YAML = `
budgets: { tool_calls: 9, output_tokens: 9000 }
agents:
  - { id: clerk, instructions: "Sort the request." }
tools:
  orders.get: { effect: read, input: { type: object } }
  pay: { effect: financial, compensate: unpay }
  unpay: { effect: financial }
flow:
  id: desk
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: clerk, input: { task: "{{event.payload.order}}" }, routes: [{ to: look }] }
    - id: look
      type: tool
      tool: orders.get
      params: { id: "{{event.payload.order}}" }
      retry: { max_attempts: 2, backoff_ms: 10 }
      routes: [{ when: "look.result.total > 100", to: gate }, { when: "look.result.total > 1", to: gate }, { to: end }]
    - { id: gate, type: approval, message: "Pay?", routes: [{ when: "approvals.gate == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: pay, params: { amount: 5 } }
`;
const SCRIPT = {
  agents: { clerk: [{ text: 'a refund', usage: { input: 100, output: 10 } }] },
  tools: {
    'orders.get': [{ error: 'transient', message: '503' }, { result: { total: 5, note: 'x'.repeat(3000) } }],
    pay: [{ result: { paid: true } }],
  },
} as const;

async function waiting(
  options: CreateEngineOptions = {},
): Promise<{ engine: ReturnType<typeof createEngine>; run: Run }> {
  const engine = createEngine({ journal: openMemory(), script: SCRIPT, ...options });
  const run = await engine.run(compile(YAML), { order: 'A-1' });
  await run.waiting();
  return { engine, run };
}

async function eventsOf(run: Run, after?: string): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run.events(after === undefined ? {} : { after })) events.push(event);
  return events;
}

async function ended(): Promise<{ engine: ReturnType<typeof createEngine>; run: Run; events: RunEvent[] }> {
  const { engine, run } = await waiting();
  await run.answer('gate', 'approve', { by: 'anna' });
  await run.result();
  return { engine, run, events: await eventsOf(run) };
}

const of = <Type extends RunEvent['type']>(events: readonly RunEvent[], type: Type) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: Type }> => event.type === type);

describe('public events', () => {
  test('a client answers with what the event of a question carries', async () => {
    const { engine, run } = await waiting();
    const reader = run.events();
    for await (const event of reader) {
      if (event.type !== 'question.asked') continue;
      expect(event.id).toMatch(/^\d+\.\d+$/);
      const [open] = await run.questions();
      expect([event.question, event.payload]).toEqual([open?.id, open?.payload]);
      await engine.answer(event.question, { choice: 'approve', by: 'anna', payload: event.payload });
      break;
    }
    expect((await run.result()).code).toBe('SUCCESS');
    await engine.close();
  });

  test('the route between two nodes is told with its index', async () => {
    const { engine, events } = await ended();
    expect(of(events, 'route.taken').map(({ from, to, index }) => [from, to, index])).toEqual([
      ['sort', 'look', 0],
      ['look', 'gate', 1],
      ['gate', 'pay', 0],
    ]);
    await engine.close();
  });

  test('every attempt of a tool is told, as often as the report counts', async () => {
    const { engine, run, events } = await ended();
    const started = of(events, 'tool.started');
    expect(started.map(({ tool, attempt }) => [tool, attempt])).toEqual([
      ['orders.get', 1],
      ['orders.get', 2],
      ['pay', 1],
    ]);
    const { usage } = await run.report();
    expect(started).toHaveLength(usage.toolCalls);
    const finished = of(events, 'tool.finished').map(({ call }) => call);
    expect(finished).toEqual([started[1]?.call, started[2]?.call]);
    await engine.close();
  });

  test('amounts are told when a call is requested and when it has ended, with what is held and the limits', async () => {
    const { engine, run, events } = await ended();
    const changes = of(events, 'budget.changed');
    expect(changes.some(({ held }) => (held.outputTokens ?? 0) > 0)).toBe(true);
    expect(changes.every(({ limit }) => limit.toolCalls === 9 && limit.outputTokens === 9000)).toBe(true);
    const last = changes.at(-1);
    const { usage } = await run.report();
    expect(last?.held).toEqual({});
    expect(last?.used).toMatchObject({ toolCalls: usage.toolCalls, inputTokens: 100, outputTokens: 10 });
    await engine.close();
  });
});

describe('`engine.state`', () => {
  test('gives nodes, meters, questions and values at any event, as the fold of the events gives them', async () => {
    const { engine, run, events } = await ended();
    const asked = events.find(({ type }) => type === 'question.asked');
    const then = await engine.state(run.id, { at: asked?.seq ?? 0 });
    expect(then.nodes).toMatchObject({
      sort: { state: 'done', visits: { count: 1 } },
      look: { state: 'done', visits: { count: 1, trouble: [{ retries: 1 }] } },
      gate: { state: 'waiting' },
      pay: { state: 'idle', visits: { count: 0 } },
    });
    expect(then.questions).toMatchObject([{ node: 'gate', message: 'Pay?' }]);
    expect(then.slots['sort']).toMatchObject({ writtenBy: 'sort', value: { output: 'a refund' } });
    expect(then.slots['look']).toMatchObject({ writtenBy: 'look', ref: expect.stringMatching(/^sha256:/) });
    const now = await engine.state(run.id);
    expect(now).toMatchObject({
      run: run.id,
      state: 'completed',
      code: 'SUCCESS',
      seq: now.last,
      questions: [],
      bars: [],
    });
    expect(now.nodes['pay']?.state).toBe('done');
    await engine.close();
  });

  test.each([0, 1.5, -1, 10_000, Number.NaN])('refuses event %d', async (at) => {
    const { engine, run } = await waiting();
    await expect(engine.state(run.id, { at })).rejects.toMatchObject({
      code: 'event-not-found',
      help: expect.stringMatching(/^It has the events 1 to \d+\.$/),
    });
    await engine.close();
  });

  test('of a run that does not exist is an error', async () => {
    const { engine } = await waiting();
    await expect(engine.state('r_none')).rejects.toMatchObject({ code: 'run-not-found' });
    await engine.close();
  });
});

test('readers that come back at once read the journal once, and every one gets the rest', async () => {
  const store = openMemory();
  let loads = 0;
  const journal = {
    ...store,
    journal: {
      ...store.journal,
      load: (...given: Parameters<typeof store.journal.load>) => {
        loads += 1;
        return store.journal.load(...given);
      },
    },
  };
  const first = await waiting({ journal: { ...journal, close: async () => undefined } });
  await first.run.answer('gate', 'approve', { by: 'anna' });
  await first.run.result();
  await first.engine.close();
  await using engine = createEngine({ journal, script: SCRIPT });
  loads = 0;
  const run = await engine.open(first.run.id);
  const all = await eventsOf(run);
  const once = loads;
  const near = all.at(-3);
  const rest = await Promise.all(Array.from({ length: 50 }, () => eventsOf(run, near?.id ?? '')));
  expect(rest.every((each) => JSON.stringify(each) === JSON.stringify(all.slice(-2)))).toBe(true);
  expect(loads).toBe(once);
});
