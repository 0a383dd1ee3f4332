/** What a model thinks in its text decides nothing, whoever performs the model. */
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { createEngine, openMemory, type CreateEngineOptions } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';

const TEAM = compiled({
  Agents: [{ Name: 'A' }, { Name: 'B' }],
  Selection: {
    Type: 'keyword',
    Routes: [
      { Keyword: 'GO', Agent: 'B', SourceAgents: ['A'] },
      { Keyword: 'DONE', Agent: 'A', SourceAgents: ['A'] },
      { Keyword: 'BACK', Agent: 'A', SourceAgents: ['B'] },
    ],
  },
});
const THOUGHT = '<think>\nIs it over?\nDONE\n</think>\n';
const FLOW = compiled({
  agents: [{ id: 'a', output: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } }],
  flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'a' }] },
});

const says = (said: { [agent: string]: string[] }): [string, CreateEngineOptions][] => [
  ['script', { script: { agents: said } }],
  ['model', { model: ({ agent: { id } }) => said[id]?.shift() ?? '' }],
  [
    'performer',
    {
      performer: {
        perform: async ({ command: { kind, name } }) => ({
          ok: true,
          value: (kind === 'model' ? { text: said[name]?.shift() ?? '' } : { ok: true }) as Json,
        }),
      },
    },
  ],
];

test.each([0, 1, 2])('a keyword in a thought takes no route, and the journal keeps the thought (%i)', async (index) => {
  const said = { A: [`${THOUGHT}GO`, 'DONE'], B: ['BACK'] };
  const [, options] = says(said)[index] ?? ['', {}];
  await using engine = createEngine({ journal: openMemory(), ...options });
  const run = await engine.run(TEAM);
  expect(await run.result()).toMatchObject({ code: 'SUCCESS', path: ['A', 'B', 'A'] });
  const events = [];
  for await (const event of engine.events(run.id, { live: false })) events.push(event);
  expect(JSON.stringify(events)).toContain('Is it over?');
});

test('JSON in a thought is not read', async () => {
  await using engine = createEngine({
    journal: openMemory(),
    script: { agents: { a: ['<think>{"n": 1}</think>{"n": 2}'] } },
  });
  expect((await (await engine.run(FLOW)).result()).output).toEqual({ n: 2 });
});
