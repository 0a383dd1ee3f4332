/** Dropping what was said changes what the agent is told, and no gate, no route and no ending. */
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compileLoop, drive } from './drive.ts';
import type { Driven } from './drive.ts';

const LONG = 'fact '.repeat(200);
const call = (q: number, text = '') => ({ tools: [{ name: 'find', args: { q } }], text });

function documentOf(loop: object): object {
  return {
    agents: [{ id: 'bot', tools: ['find', 'save'] }],
    tools: { find: { effect: 'read' }, save: { effect: 'write' } },
    budgets: { tool_calls: 9 },
    loop: { agent: 'bot', criteria: ['names the total'], verifier: false, ...loop },
  };
}

const SCRIPTS: { readonly [name: string]: Script } = {
  answers: {
    agents: { bot: [call(1, 'a draft of mine'), call(2), call(3), 'the total is 3'] },
    tools: { find: [{ result: LONG }] },
  },
  fails: {
    agents: { bot: [call(1), call(2), call(3), call(4), 'no'] },
    tools: { find: [{ result: LONG }, { error: 'fatal', message: LONG }] },
  },
  repeats: { agents: { bot: [call(1), call(1), call(1), 'the total'] }, tools: { find: [{ result: LONG }] } },
  claims: { agents: { bot: [call(1), call(2), 'I have sent it.', 'the total'] }, tools: { find: [{ result: LONG }] } },
  waits: {
    agents: { bot: [call(1), call(2), { tools: [{ name: 'save', args: { x: 1 } }], text: '' }, 'the total'] },
    tools: { find: [{ result: LONG }], save: [{ result: 1 }] },
  },
  exhausts: {
    agents: { bot: Array.from({ length: 12 }, (_, index) => call(index)) },
    tools: { find: [{ result: LONG }] },
  },
};

describe.each(Object.entries(SCRIPTS))('a run that %s', (_, script) => {
  test('goes the same way whether the talk is dropped or not', async () => {
    const whole = await drive(compileLoop(documentOf({})), script);
    const dropped = await drive(compileLoop(documentOf({ compression: { window: 300 } })), script);
    expect(dropped.read.events.some((event) => 'node' in event && event.node === 'context_compression')).toBe(true);
    expect(seen(dropped)).toEqual(seen(whole));
    expect(dropped.difference).toBeNull();
  });
});

test('what the agent is told afterwards keeps what must be kept and nothing that was only said', async () => {
  const { prompts } = await drive(
    compileLoop(documentOf({ compression: { window: 300 } })),
    SCRIPTS['answers'] as Script,
  );
  const last = prompts.at(-1) ?? '';
  expect(last).toContain('Goal: what is it?');
  expect(last).toContain('- names the total');
  expect(last).toMatch(/<data from="find">\n\[bot\.\d\.1\.0\] find \{"q":\d\} succeeded: fact fact/);
  expect(last).toContain('Budget: {"steps":50,"reflections":2,"tool_calls":9}');
  expect(last).toContain('Open: nothing, repairs 0');
  expect(last).not.toContain('a draft of mine');
  expect(last.length).toBeLessThan((prompts.at(0)?.length ?? 0) + 3 * 900);
});

test('observations stay complete, under any view of the agent', async () => {
  const { read } = await drive(compileLoop(documentOf({ compression: { window: 300 } })), SCRIPTS['answers'] as Script);
  const observations = read.state.threads.get('0')?.slots['observations'] as unknown as readonly { result: string }[];
  expect(observations.map(({ result }) => result)).toEqual([LONG, LONG, LONG]);
});

function seen({ report, read }: Driven): object {
  const passed = (name: string): boolean => name !== '~context.look' && name !== 'context_compression';
  const ways = read.events.flatMap((event) =>
    event.type === 'route.picked' && passed(event.node) ? [`${event.node} → ${event.to}`] : [],
  );
  const { state, code, output, path, waiting, error } = report;
  return {
    state,
    code,
    output,
    path,
    waiting: waiting.map(({ node, message }) => `${node}: ${message}`),
    error,
    calls: report.usage.toolCalls,
    ways: ways.filter((way) => !way.includes('context')),
  };
}
