/** In a team an agent gets its own earlier turns back as they came, with reasoning, ids and signatures. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { completion, message, response } from './bodies.ts';
import type { Body } from './bodies.ts';
import { json, serve } from './serve.ts';

const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'enc-1' };
const thinking = { type: 'thinking', thinking: 'Brief.', signature: 'sig-1' };
const CASES: readonly (readonly [provider: string, model: string, reply: Body, back: readonly Json[]])[] = [
  [
    'anthropic',
    'claude-sonnet-4-5',
    message('', { content: [thinking, { type: 'text', text: 'An answer.' }] }),
    [{ role: 'assistant', content: [thinking, { type: 'text', text: 'An answer.' }] }],
  ],
  [
    'openai',
    'gpt-5-mini',
    response('', { output: [reasoning, ...(response('An answer.')['output'] as object[])] }),
    [
      { type: 'item_reference', id: 'rs_1' },
      { type: 'item_reference', id: 'msg_1' },
    ],
  ],
  [
    'in-house',
    'm',
    completion({ content: 'An answer.', reasoning_content: 'Brief.' }),
    [{ role: 'assistant', content: 'An answer.', reasoning_content: 'Brief.' }],
  ],
];

describe('a turn that was one reply', () => {
  test.each(CASES)('%s', async (provider, model, reply, back) => {
    await using served = await serve();
    served.answer = json(200, reply);
    const { flow } = compile({
      models: { m: { provider, model, base_url: served.url } },
      Orchestration: {
        Agents: [
          { Name: 'First', Instructions: 'Be brief.', Model: 'm' },
          { Name: 'Second', Instructions: 'Be long.', Model: 'm' },
        ],
        Selection: { Type: 'roundrobin' },
        Termination: { Type: 'maxiterations', MaxIterations: 3 },
      },
    });
    if (flow === undefined) throw new Error('it does not compile');
    const env = { OPENAI_API_KEY: 'k'.repeat(12), ANTHROPIC_API_KEY: 'k'.repeat(12) };
    const engine = createEngine({ journal: openMemory(), models: { env } });
    try {
      await engine.settled(await engine.start(flow, { input: 'Go' }));
    } finally {
      await engine.close();
    }
    const { input, messages = input } = served.asked.at(-1)?.body ?? {};
    const sent = (messages as readonly { readonly role?: string; readonly type?: string }[]).filter(
      ({ role, type }) => role === 'assistant' || type === 'item_reference',
    );
    expect(sent).toEqual(back);
  });
});
