/** The part that failed, where a run ends with less than SUCCESS in another way than by an error. */
import { expect, test } from 'vitest';
import type { Report } from '../src/ports/types.ts';
import { storyOf } from '../src/report/narrate.ts';
import { compileLoop, drive } from '../../notations/test/loop/drive.ts';

async function failed(document: object, script: object, input?: unknown): Promise<Report['failure']> {
  const { read, report } = await drive(
    compileLoop(document),
    script,
    input === undefined ? {} : { input: input as never },
  );
  // The last public event has the same.
  expect(storyOf(read).at(-1)).toMatchObject({ type: 'run.ended', failure: report.failure });
  return report.failure;
}

const bot = [{ id: 'bot', tools: ['find'] }];
const find = { find: { effect: 'read' } };
const asking = (more: object) => ({
  flow: {
    id: 'f',
    entry: 'gate',
    nodes: [
      {
        id: 'gate',
        type: 'approval',
        message: 'Go?',
        routes: [{ when: "approvals.gate == 'approve'", to: 'end' }, { to: 'no' }],
      },
      { id: 'no', type: 'fail', message: 'Nobody wants it.', ...more },
    ],
  },
});

test('a success has none', async () => {
  expect(
    await failed(
      { agents: bot, tools: find, loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'x' }] } },
      { agents: { bot: ['7'] } },
    ),
  ).toBeNull();
});

test('an answer that nobody judges is left open by the document', async () => {
  const document = { agents: bot, tools: find, loop: { agent: 'bot', verifier: false } };
  expect(await failed(document, { agents: { bot: ['It is there.'] } })).toMatchObject({
    about: 'document',
    name: 'loop',
  });
});

test('a verifier that cannot be reached is the model that failed', async () => {
  const document = { agents: bot, tools: find, loop: { agent: 'bot' } };
  const script = { agents: { bot: ['It is there.'], verifier: [{ error: 'fatal', message: 'no key' }] } };
  expect(await failed(document, script)).toMatchObject({
    about: 'model',
    agent: 'verifier',
    why: expect.stringContaining('no key') as string,
  });
});

test('an item that the run went on without is the part that failed', async () => {
  const document = {
    tools: find,
    budgets: { tool_calls: 1 },
    flow: {
      id: 'f',
      entry: 'each',
      nodes: [
        { id: 'each', type: 'map', over: '{{event.payload.items}}', as: 'item', do: 'one', on_item_error: 'collect' },
        { id: 'one', type: 'tool', tool: 'find', params: { q: '{{item}}' } },
      ],
    },
  };
  const script = { tools: { find: [{ result: 1 }] } };
  expect(await failed(document, script, { items: ['a', 'b'] })).toMatchObject({
    about: 'limit',
    name: 'budgets.tool_calls',
    why: expect.stringContaining('find (1)') as string,
  });
});

test('an end of the author after a rejection is the decision of that person', async () => {
  expect(await failed(asking({}), { approvals: { gate: 'reject' } })).toMatchObject({ about: 'person', node: 'gate' });
});

test('a failure that the flow recovers from is not the one that ended it', async () => {
  const document = {
    tools: { ...find, save: { effect: 'write' } },
    flow: {
      id: 'f',
      entry: 'one',
      nodes: [
        { id: 'one', type: 'tool', tool: 'find', on_error: [{ match: '.*', to: 'two' }], routes: [{ to: 'two' }] },
        { id: 'two', type: 'tool', tool: 'save' },
      ],
    },
  };
  const script = {
    tools: { find: [{ error: 'fatal', message: 'gone' }], save: [{ error: 'fatal', message: 'full' }] },
  };
  expect(await failed(document, script)).toMatchObject({ about: 'tool', name: 'save', node: 'two', why: 'full' });
});
