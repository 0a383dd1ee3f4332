/** The loop detector in every notation: first the damage without it, then the protection. §flow/loop-detector */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { replay } from '@sluice-internal/engine/audit';
import type { Script } from '@sluice-internal/testing';
import type { Report } from '@sluice-internal/library';

const SECTIONS = {
  agents: [{ id: 'bot', name: 'bot', instructions: 'Find it.', tools: ['find'] }],
  tools: { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } },
  budgets: { tool_calls: 12 },
};
const NOTATIONS = {
  flow: { flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }] } },
  workflow: { workflow: { steps: [{ name: 'a', agent_name: 'bot' }] } },
  loop: { loop: { agent: 'bot' } },
} as const;
const call = (args: { readonly [field: string]: Json }) => ({ text: '', tools: [{ name: 'find', args }] });

async function run(document: object, script: Script): Promise<Report> {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const store = openMemory();
  const engine = createEngine({ journal: store, script });
  const report = await engine.settled(await engine.start(flow as NonNullable<typeof flow>, { input: 'where?' }));
  expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
  await engine.close();
  return report;
}
const endless: Script = { agents: { bot: [call({ q: 'x' })] }, tools: { find: [{ result: 'nothing' }] } };

describe.each(Object.entries(NOTATIONS))('%s', (_, notation) => {
  test('off: an agent that repeats itself uses up the whole budget', async () => {
    const { diagnostics } = compile({ ...SECTIONS, ...notation, protections: { loop: false } });
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'protection-off', severity: 'warning' }));
    const report = await run({ ...SECTIONS, ...notation, protections: { loop: false } }, endless);
    expect(report).toMatchObject({ state: 'failed', usage: { toolCalls: 12 }, decisions: [] });
  });

  test('on by default: the third identical call is not made; the next one ends the turn', async () => {
    const report = await run({ ...SECTIONS, ...notation }, endless);
    expect(report).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE', usage: { toolCalls: 2 } });
    expect(report.decisions.map(({ failure, action, mast }) => [failure, action, mast])).toEqual([
      ['tool_loop', 'block', 'FM-1.3'],
      ['tool_loop', 'abort', 'FM-1.3'],
    ]);
  });

  test('a corrected agent goes on', async () => {
    const script: Script = {
      agents: { bot: [call({ q: 'x' }), call({ q: ' x' }), call({ q: 'x ' }), { text: 'It is not there.' }] },
      tools: endless.tools,
    };
    const report = await run({ ...SECTIONS, ...notation }, script);
    expect(report).toMatchObject({ state: 'completed', usage: { toolCalls: 2 }, decisions: [{ action: 'block' }] });
  });

  test('escalate: a person is asked at the second trip', async () => {
    const report = await run({ ...SECTIONS, ...notation, protections: { loop: { on_trip: 'escalate' } } }, endless);
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ choices: ['respond', 'stop'] }] });
    expect(report.decisions.map(({ action }) => action)).toEqual(['block', 'escalate']);
  });
});

describe('in every notation', () => {
  const tools = { ...SECTIONS.tools, note: { description: 'Notes.', input: { type: 'object' }, effect: 'write' } };
  const agents = [
    { id: 'bot', name: 'bot', instructions: 'Find it.', tools: ['find', 'note'] },
    { id: 'planner', name: 'planner', instructions: 'Plan.' },
  ];
  const every = {
    ...NOTATIONS,
    Orchestration: {
      Orchestration: {
        Agents: [
          { Name: 'bot', Instructions: 'Find it.', Plugins: ['find', 'note'] },
          { Name: 'planner', Instructions: 'Look on.' },
        ],
        Selection: { Type: 'sequential' },
      },
    },
    staged: { staged: { id: 's', plan: { agent: 'planner' }, workers: { agent: 'bot' } } },
  };
  const finding = (replies: readonly object[], loop: object, notation: object) => {
    const { Orchestration: team } = notation as { Orchestration?: object };
    const document = {
      ...notation,
      tools,
      ...(team === undefined ? { agents, boundary: { tools: { allow: ['*'] } } } : {}),
      protections: { loop },
    };
    return run(document, {
      agents: {
        bot: [...replies, { text: 'The thing is not there.' }] as never,
        planner: ['{"tasks": [{"id": "a", "brief": "Find it."}]}'],
      },
      tools: { find: [{ result: 'nothing' }], note: [{ result: 'noted' }] },
    });
  };
  const x = call({ q: 'x' });
  const note = { text: '', tools: [{ name: 'note', args: { text: 'where?' } }] };

  test.each(Object.entries(every))('%s: the limit is configurable', async (_, notation) => {
    const calls = async (loop: object) => (await finding([x, x, x], loop, notation)).usage.toolCalls;
    expect([await calls({}), await calls({ window: 6, identical: 4 })]).toEqual([2, 3]);
  });

  test.each(Object.entries(every))('%s: a successful write in between resets it', async (_, notation) => {
    const report = await finding([x, x, note, x], {}, notation);
    expect([report.usage.toolCalls, report.decisions]).toEqual([4, []]);
  });
});

describe('rules', () => {
  const document = (loop: object) => ({ ...SECTIONS, ...NOTATIONS.flow, protections: { loop } });

  test('a poll whose result changes is no loop', async () => {
    const script: Script = {
      agents: { bot: [...Array.from({ length: 6 }, () => call({ q: 'x' })), { text: 'done' }] },
      tools: { find: Array.from({ length: 6 }, (_, index) => ({ result: `${index * 10} %` })) },
    };
    expect(await run(document({}), script)).toMatchObject({
      state: 'completed',
      usage: { toolCalls: 6 },
      decisions: [],
    });
  });

  test('a block of two calls that repeats', async () => {
    const script: Script = {
      agents: {
        bot: [...Array.from({ length: 4 }, () => [call({ q: 'x' }), call({ q: 'y' })]).flat(), { text: 'done' }],
      },
      tools: { find: [{ result: 'nothing' }] },
    };
    const report = await run(document({ identical: 5 }), script);
    expect(report).toMatchObject({ code: 'REPEATED_FAILURE', usage: { toolCalls: 4 } });
  });

  test('four failures of one tool in a row, with any arguments', async () => {
    const script: Script = {
      agents: { bot: Array.from({ length: 9 }, (_, index) => call({ q: index })) },
      tools: { find: [{ error: 'fatal', message: 'down' }] },
    };
    expect(await run(document({}), script)).toMatchObject({ code: 'REPEATED_FAILURE', usage: { toolCalls: 4 } });
    expect(await run(document({ failures: 6 }), script)).toMatchObject({ usage: { toolCalls: 6 } });
  });

  test('a call that fails twice in a row with the same error: the agent is told, and the third is not made', async () => {
    const tools: Script['tools'] = { find: [{ error: 'fatal', message: 'no such index' }] };
    const x = call({ q: 'x' });
    const report = await run(document({}), { agents: { bot: [x, x, x, { text: 'done' }] }, tools });
    expect(report).toMatchObject({ state: 'completed', usage: { toolCalls: 2 } });
    expect(report.decisions.map(({ failure, action }) => [failure, action])).toEqual([
      ['tool_loop', 'surface'],
      ['tool_loop', 'block'],
    ]);
    const told = { when: "input.contains('no such index (this call failed 2 times in a row')", text: 'I give up.' };
    const reading = await run(document({}), { agents: { bot: [told, x] }, tools });
    expect(reading).toMatchObject({ usage: { toolCalls: 2 }, output: 'I give up.' });
  });

  test('the fourth failure of one tool in a row: the agent is told before its next call is held back', async () => {
    const told = {
      when: "input.contains('down (find failed 4 times in a row: try something else)')",
      text: 'I give up.',
    };
    const calls = Array.from({ length: 5 }, (_, index) => call({ q: index }));
    const script: Script = {
      agents: { bot: [told, ...calls] as never },
      tools: { find: [{ error: 'fatal', message: 'down' }] },
    };
    const report = await run(document({ same_failure: 9 }), script);
    expect(report).toMatchObject({ output: 'I give up.', usage: { toolCalls: 4 }, decisions: [{ action: 'surface' }] });
  });

  test.each([
    ['another error', [{ q: 'x' }, { q: 'x' }], ['down', 'no such index']],
    ['other arguments', [{ q: 'x' }, { q: 'y' }], ['down', 'down']],
    ['another call in between', [{ q: 'x' }, { q: 'y' }, { q: 'x' }], ['down', 'down', 'down']],
  ])('near miss: %s', async (_, args, errors) => {
    const script: Script = {
      agents: { bot: [...args.map((each) => call(each as { [field: string]: Json })), { text: 'done' }] },
      tools: { find: errors.map((message) => ({ error: 'fatal' as const, message })) },
    };
    expect(await run(document({}), script)).toMatchObject({ state: 'completed', decisions: [] });
  });

  test('new results of other calls in between reset the count: G, H1, G, H2, G is no loop', async () => {
    const [g, h1, h2] = [call({ q: 'g' }), call({ q: 'h1' }), call({ q: 'h2' })];
    const results = (...texts: readonly string[]) => texts.map((result) => ({ result }));
    const bot = [g, h1, g, h2, g, { text: 'done' }];
    const fresh: Script = { agents: { bot }, tools: { find: results('same', 'first', 'same', 'second', 'same') } };
    expect(await run(document({}), fresh)).toMatchObject({ usage: { toolCalls: 5 }, decisions: [] });
    const stale: Script = { agents: { bot }, tools: { find: results('same') } };
    expect(await run(document({}), stale)).toMatchObject({ usage: { toolCalls: 4 }, decisions: [{ action: 'block' }] });
  });

  describe('a read that asks for the same words in another order', () => {
    const first = call({ q: 'count of edits of the page until June' });
    const again = call({ q: '"the page": count of edits, until June' });
    const done = { text: 'done' };
    const results = (count: number): Script['tools'] => ({
      find: Array.from({ length: count }, (_, index) => ({ result: `page ${index}` })),
    });

    test('off: it is made, and costs a call', async () => {
      const script: Script = { agents: { bot: [first, again, done] }, tools: results(2) };
      expect(await run(document({ rephrased: false }), script)).toMatchObject({
        usage: { toolCalls: 2 },
        decisions: [],
      });
    });

    test('on: it is held back, and the agent reads that it has the answer', async () => {
      const read = { when: "input.contains('has the same words as an earlier one')", text: 'It is page 0.' };
      const report = await run(document({}), { agents: { bot: [read, first, again] as never }, tools: results(2) });
      expect(report).toMatchObject({ output: 'It is page 0.', usage: { toolCalls: 1 } });
      expect(report.decisions).toMatchObject([{ failure: 'tool_loop', action: 'block', mast: 'FM-1.3' }]);
    });

    test('an agent that asks for it again gets it, and its turn goes on', async () => {
      const script: Script = { agents: { bot: [first, again, again, done] }, tools: results(2) };
      const report = await run(document({}), script);
      expect(report).toMatchObject({ state: 'completed', usage: { toolCalls: 2 }, decisions: [{ action: 'block' }] });
    });

    test.each([
      ['another word', 'count of edits of the page until July'],
      ['a sign that changes the meaning', 'count of edits of the page until > June'],
      ['an exclusion', 'count of edits of the page -until June'],
    ])('near miss: %s', async (_, q) => {
      const report = await run(document({}), { agents: { bot: [first, call({ q }), done] }, tools: results(2) });
      expect(report).toMatchObject({ usage: { toolCalls: 2 }, decisions: [] });
    });

    test('near miss: a text of few words', async () => {
      const bot = [call({ q: 'edits until June' }), call({ q: 'until June edits' }), done];
      expect(await run(document({}), { agents: { bot }, tools: results(2) })).toMatchObject({ decisions: [] });
    });

    test('calls that change something are not compared by words', async () => {
      const writing = {
        ...document({}),
        tools: { find: { ...SECTIONS.tools.find, effect: 'write', idempotent: true } },
        boundary: { tools: { allow: ['*'] } },
      };
      const script: Script = {
        agents: { bot: [first, again, done] },
        tools: results(2),
        approvals: { find: 'approve' },
      };
      expect(await run(writing, script)).toMatchObject({ usage: { toolCalls: 2 }, decisions: [] });
    });
  });

  test('arguments that are declared volatile are not compared', async () => {
    const script: Script = {
      agents: { bot: [...Array.from({ length: 9 }, (_, index) => call({ q: 'x', request: index })), { text: 'done' }] },
      tools: { find: [{ result: 'nothing' }] },
    };
    expect(await run(document({}), script)).toMatchObject({ usage: { toolCalls: 9 } });
    expect(await run(document({ ignore: ['request'] }), script)).toMatchObject({ usage: { toolCalls: 2 } });
  });

  test('a rule that can never apply is an error', () => {
    const { diagnostics } = compile(document({ identical: 6 }));
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ code: 'bad-value', message: expect.stringContaining('cannot contain 6 identical') }),
    );
  });
});
