/** Arguments that are no JSON object reach no tool: the call is refused, the model sees what it wrote, and may mend it. */
import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Json } from '@sluice-internal/kernel/expr';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import { completion } from '../../../models/test/models/bodies.ts';
import { json, serve } from '../../../models/test/models/serve.ts';

const TOOL = { effect: 'read', input: { type: 'object', properties: { only: { type: 'string' } } } };
const CUT_OFF = '{"only": "tmp';
const FLOW = { flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] } };
const LOOP = { loop: { id: 'demo', agent: 'bot' } };

describe.each([
  ['flow', FLOW],
  ['loop', LOOP],
])('%s', (_, body) => {
  test('what was cut off is refused, shown, and sent back as it was written', async () => {
    const { report, ran, sent } = await run(body, [{ arguments: CUT_OFF }, { arguments: '{"only":"tmp"}' }]);
    expect(report.state).toBe('completed');
    expect(ran).toEqual([{ only: 'tmp' }]);
    const second = sent[1] as unknown as Sent;
    const asked = second.messages.find(({ tool_calls }) => tool_calls !== undefined);
    expect(JSON.parse(asked?.tool_calls?.[0]?.function.arguments ?? '')).toEqual({ invalid_json: CUT_OFF });
    const told = second.messages.find(({ role }) => role === 'tool');
    expect(told?.content).toContain(
      `[INVALID] the arguments of clean are not valid: they are not a JSON object: ${CUT_OFF}`,
    );
  });

  test.each(['[1]', '"x"', '7', 'null', '{"only": 4'])('%s is not an object either', async (written) => {
    const { ran, sent } = await run(body, [{ arguments: written }]);
    expect(ran).toEqual([]);
    expect(JSON.stringify(sent[1])).toContain(JSON.stringify(`they are not a JSON object: ${written}`).slice(1, -1));
  });

  test('what is nested too deeply is refused, and the run goes on', async () => {
    const deep = `{"only": ${'['.repeat(5000)}${']'.repeat(5000)}}`;
    const { ran, report } = await run(body, [{ arguments: deep }, { arguments: '{"only":"tmp"}' }]);
    expect([ran, report.state]).toEqual([[{ only: 'tmp' }], 'completed']);
  });

  test('it counts as malformed like any other: the third in a row is the last', async () => {
    const broken = { arguments: CUT_OFF };
    const { ran, report, sent } = await run(body, [broken, broken, broken, broken]);
    expect(ran).toEqual([]);
    expect(sent).toHaveLength(3);
    expect(report.state).not.toBe('completed');
    expect(JSON.stringify(report)).toContain('they are not a JSON object');
  });

  test('a long one is shown in part', async () => {
    const { sent } = await run(body, [{ arguments: `{"only": "${'x'.repeat(5000)}` }]);
    const told = (sent[1] as unknown as Sent).messages.find(({ role }) => role === 'tool');
    expect(told?.content).toMatch(/x… \(5010 characters\)/);
    expect(told?.content?.length).toBeLessThan(400);
  });

  test('a call without any arguments stays one', async () => {
    const { ran } = await run(body, [{ arguments: '' }]);
    expect(ran).toEqual([{}]);
  });
});

interface Sent {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string;
    readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
  }[];
}

/** One reply per call, and then an answer. */
async function run(body: object, calls: readonly { readonly arguments: string }[]) {
  const left = [...calls];
  await using served = await serve((response, request) => {
    const call = left.shift();
    if (call === undefined) return json(200, completion({ content: 'done' }))(response, request);
    const tool_calls = [{ id: `c${left.length}`, type: 'function', function: { name: 'clean', ...call } }];
    return json(200, completion({ content: null, tool_calls }, 'tool_calls'))(response, request);
  });
  const { flow, diagnostics } = compile({
    models: { m: { provider: 'openai-compatible', model: 'm', base_url: served.url } },
    tools: { clean: TOOL },
    agents: [{ id: 'bot', model: 'm', tools: ['clean'] }],
    ...body,
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics, null, 2));
  const ran: Json[] = [];
  const engine = createEngine({
    journal: openMemory(),
    tools: {
      clean: (args) => {
        ran.push(args);
        return 'cleaned';
      },
    },
  });
  try {
    const id = await engine.start(flow, { input: { message: 'please' } });
    const report = await engine.settled(id);
    return { report, ran, sent: served.asked.map((asked) => asked.body) };
  } finally {
    await engine.close();
  }
}
