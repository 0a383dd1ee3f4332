/** What models say while they say it reaches whoever listens to a run, beside the journal and in no place of it. */
import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { ChainedEvent, Delta } from '@sluice-internal/engine/ports';
import type { ModelFunction } from '../../../library/src/host/functions.ts';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import type { CreateEngineOptions, Engine } from '@sluice-internal/library/compose';
import { PROTOCOLS } from './protocols.ts';
import { json, serve, sse, text } from './serve.ts';

/** Somebody agrees first, so that there is time to begin to listen. */
const FLOW = {
  agents: [{ id: 'writer', model: 'openai/gpt-4o', instructions: 'Be brief.' }],
  flow: {
    id: 'hello',
    entry: 'gate',
    nodes: [
      { id: 'gate', type: 'approval', message: 'Go?', routes: [{ when: "approvals.gate == 'approve'", to: 'ask' }] },
      { id: 'ask', type: 'agent', agent: 'writer', input: { task: 'Hi' } },
    ],
  },
};
const compiled = (document: object): CompiledFlow => compile(document).flow as CompiledFlow;

interface Heard {
  readonly deltas: readonly Delta[];
  readonly events: readonly ChainedEvent[];
  readonly stored: readonly ChainedEvent[];
  readonly output: unknown;
}

async function listen(options: CreateEngineOptions, document: object = FLOW, deltas = true): Promise<Heard> {
  const engine = createEngine({ journal: openMemory(), ...options });
  try {
    const run = await engine.start(compiled(document), { input: { message: 'x' } });
    const { waiting } = await engine.settled(run);
    const entries: (ChainedEvent | Delta)[] = [];
    const heard = gather(engine, run, deltas, entries);
    await engine.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'ann' });
    const { output } = await engine.settled(run);
    await heard;
    const stored: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) stored.push(event);
    return {
      deltas: entries.filter((entry): entry is Delta => entry.type === 'reply.streamed'),
      events: entries.filter((entry): entry is ChainedEvent => entry.type !== 'reply.streamed'),
      stored,
      output,
    };
  } finally {
    await engine.close();
  }
}

async function gather(engine: Engine, run: string, deltas: boolean, into: (ChainedEvent | Delta)[]): Promise<void> {
  for await (const entry of engine.events(run, { deltas })) into.push(entry);
}

const models = (provider: string, url: string) => ({
  env: {
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: url,
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: url,
    GOOGLE_GENERATIVE_AI_API_KEY: 'k',
    GOOGLE_BASE_URL: url,
  },
  model: `${provider}/m`,
});

describe.each(PROTOCOLS)('$provider', (mock) => {
  const document = { ...FLOW, agents: [{ id: 'writer', instructions: 'Be brief.' }] };
  test('the reply comes in pieces, and the journal is the same as without', async () => {
    await using served = await serve((response, asked) =>
      (asked.path.includes('stream') || asked.body['stream'] === true
        ? sse(mock.stream({ text: 'Good day, dear reader.' }))
        : text(200, mock.body({ text: 'Good day, dear reader.' })))(response, asked),
    );
    const loud = await listen({ models: models(mock.provider, served.url) }, document);
    expect(loud.output).toBe('Good day, dear reader.');
    expect(loud.deltas.map((delta) => delta.text).join('')).toBe('Good day, dear reader.');
    const [delta] = loud.deltas;
    expect(delta).toMatchObject({ agent: 'writer', attempt: 1 });
    expect(loud.stored.some((event) => event.type === 'effect.settled' && event.key === delta?.key)).toBe(true);
    expect(loud.events).toEqual(loud.stored);
    const quiet = await listen({ models: models(mock.provider, served.url) }, document, false);
    expect([quiet.output, quiet.deltas]).toEqual([loud.output, []]);
    expect(quiet.stored.map(({ type }) => type)).toEqual(loud.stored.map(({ type }) => type));
  });
});

test('an attempt that fails and the one that follows are told apart', async () => {
  const [openai] = PROTOCOLS;
  let calls = 0;
  await using served = await serve((response, asked) => {
    calls += 1;
    return (calls === 1 ? json(500, {}) : sse(openai?.stream({ text: 'Hello.' }) ?? ''))(response, asked);
  });
  const document = {
    agents: [{ id: 'writer' }],
    loop: {
      agent: 'writer',
      criteria: [{ when: "answer != ''", reason: 'no answer' }],
      intents: [
        { id: 'this', when: 'true' },
        { id: 'that', when: 'true' },
      ],
    },
  };
  const engine = createEngine({ journal: openMemory(), models: models('openai', served.url) });
  const run = await engine.start(compiled(document), { input: 'x' });
  const { waiting } = await engine.settled(run);
  const entries: (ChainedEvent | Delta)[] = [];
  const heard = gather(engine, run, true, entries);
  await engine.answer(waiting[0]?.id ?? '', { choice: 'this', by: 'ann' });
  const { code } = await engine.settled(run);
  await heard;
  await engine.close();
  const deltas = entries.filter((entry): entry is Delta => entry.type === 'reply.streamed');
  expect([code, calls, new Set(deltas.map(({ attempt }) => attempt))]).toEqual(['SUCCESS', 2, new Set([2])]);
});

test('a model that is a function may pass on what it says', async () => {
  const model: ModelFunction = ({ hear }) => {
    for (const word of ['one', ' two', ' three']) hear?.(word);
    return 'one two three';
  };
  const { deltas, output } = await listen({ model });
  expect([deltas.map((delta) => delta.text).join(''), output]).toEqual(['one two three', 'one two three']);
});

test('under a script, a reply is heard as well', async () => {
  const { deltas } = await listen({ script: { agents: { writer: ['from the script'] } } });
  expect(deltas).toMatchObject([{ text: 'from the script' }]);
});

test('without a listener, a function gets no callback', async () => {
  const seen: unknown[] = [];
  const model: ModelFunction = ({ hear }) => {
    seen.push(hear);
    return 'x';
  };
  await listen({ model }, FLOW, false);
  expect(seen).toEqual([undefined]);
});

test('several listeners receive the same text, and one that leaves does not disturb the others', async () => {
  const engine = createEngine({ journal: openMemory(), script: { agents: { writer: ['hello'] } } });
  const run = await engine.start(compiled(FLOW), { input: { message: 'x' } });
  const { waiting } = await engine.settled(run);
  const one: (ChainedEvent | Delta)[] = [];
  const two: (ChainedEvent | Delta)[] = [];
  const first = gather(engine, run, true, one);
  const second = gather(engine, run, true, two);
  for await (const _ of engine.events(run, { deltas: true })) break;
  await engine.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'ann' });
  await Promise.all([first, second]);
  expect(one).toEqual(two);
  expect(one.filter(({ type }) => type === 'reply.streamed')).toHaveLength(1);
  await engine.close();
});
