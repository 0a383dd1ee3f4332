/** The public events: what is skipped, what is streamed, and that each type is documented. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { compile, createEngine, openMemory } from '../../src/index.ts';
import type { CompiledFlow, CreateEngineOptions, Json, RunEvent } from '../../src/index.ts';

const root = join(import.meta.dirname, '../../../..');

async function eventsOf(
  document: object,
  options: CreateEngineOptions,
  input: Json = {},
  onEvent: (event: RunEvent) => void = () => undefined,
): Promise<RunEvent[]> {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  await using engine = createEngine({ journal: openMemory(), ...options });
  const run = await engine.run(flow as CompiledFlow, input);
  const events: RunEvent[] = [];
  for await (const event of run.events()) {
    onEvent(event);
    events.push(event);
  }
  return events;
}

test('the node of every event can be read without a check of its type', () => {
  expectTypeOf<RunEvent['node']>().toEqualTypeOf<string | undefined>();
});

function skips(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'node.skipped' ? [`${event.node}: ${event.reason}`] : []));
}

describe('node.skipped', () => {
  test('a branch whose condition does not hold, before the other branches begin', async () => {
    const document = {
      flow: {
        id: 'f',
        entry: 'both',
        nodes: [
          {
            id: 'both',
            type: 'parallel',
            branches: [{ to: 'one' }, { to: 'two', when: 'event.payload.more == true' }],
          },
          { id: 'one', type: 'set', values: { x: 1 } },
          { id: 'two', type: 'set', values: { x: 2 } },
        ],
      },
    };
    const events = await eventsOf(document, {}, { more: false });
    expect(skips(events)).toEqual(['two: condition']);
    const types = events.map((event) => ('node' in event ? `${event.type} ${event.node}` : event.type));
    expect(types.indexOf('node.skipped two')).toBeLessThan(types.indexOf('node.started one'));
    expect(skips(await eventsOf(document, {}, { more: true }))).toEqual([]);
  });

  test('a step of a workflow whose condition is not met', async () => {
    const document = {
      steps: [
        { name: 'one', agent_name: 'a' },
        { name: 'two', agent_name: 'b', mode: { Conditional: { condition: 'yes' } } },
        { name: 'three', agent_name: 'c' },
      ],
    };
    const script = { agents: { a: ['no'], b: ['b'], c: ['c'] } };
    expect(skips(await eventsOf(document, { script }, 'x'))).toEqual(['two: condition']);
  });

  test('nodes on a path that a completed run did not take, and none of a failed run', async () => {
    const document = {
      flow: {
        id: 'f',
        entry: 'pick',
        nodes: [
          {
            id: 'pick',
            type: 'set',
            values: { n: '{{event.payload.n}}' },
            routes: [{ when: 'pick.n > 5', to: 'big' }, { to: 'small' }],
          },
          { id: 'big', type: 'fail', code: 'VALIDATION_FAIL', message: 'Too big.' },
          { id: 'small', type: 'terminal' },
        ],
      },
    };
    expect(skips(await eventsOf(document, {}, { n: 1 }))).toEqual(['big: path']);
    expect(skips(await eventsOf(document, {}, { n: 9 }))).toEqual([]);
  });
});

describe('streamed text', () => {
  test('text, reasoning and arguments of a model are events of their own, in the order of the stream', async () => {
    const document = {
      agents: [{ id: 'bot' }],
      flow: { id: 'f', entry: 'ask', nodes: [{ id: 'ask', type: 'agent', agent: 'bot' }] },
    };
    const reading = Promise.withResolvers<void>();
    const options: CreateEngineOptions = {
      performer: {
        perform: async (call) => {
          // A reader of events must have subscribed before the model begins.
          await reading.promise;
          call.onText?.('Let me think. ', 'reasoning');
          call.onText?.('{"order":', 'arguments');
          call.onText?.('Done', 'text');
          return { ok: true, value: { text: 'Done' } };
        },
      },
    };
    const events = await eventsOf(document, options, {}, () => reading.resolve());
    const streamed = events.flatMap((event) =>
      event.type === 'model.text' || event.type === 'model.reasoning' || event.type === 'model.arguments'
        ? [[event.type, event.node, event.agent, event.text]]
        : [],
    );
    expect(streamed).toEqual([
      ['model.reasoning', 'ask', 'bot', 'Let me think. '],
      ['model.arguments', 'ask', 'bot', '{"order":'],
      ['model.text', 'ask', 'bot', 'Done'],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });
});

test('every type of event is in the guide, and the guide has no other', () => {
  const source = readFileSync(join(root, 'packages/wire/src/events.ts'), 'utf8');
  const declared = [...source.matchAll(/^  '?([a-z.]+)'?: (?:\{|unknown)/gm)].map(([, type = '']) => type);
  const page = readFileSync(join(root, 'docs/guide/engine.md'), 'utf8');
  const table = page.slice(page.indexOf('| type | fields |'), page.indexOf('Aborting the `signal`'));
  const documented = table
    .split('\n')
    .slice(2)
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z.]+)`/g)].map(([, type = '']) => type));
  expect(declared.length).toBeGreaterThan(25);
  expect(documented.toSorted()).toEqual(declared.toSorted());
});
