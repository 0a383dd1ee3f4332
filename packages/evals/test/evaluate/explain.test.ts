/** The sentence about a run: every word of it is in the journal. */
import { expect, test } from 'vitest';
import { explain } from '../../src/journal/explain.ts';
import { recordOf } from '../../src/journal/record.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';

async function sentence(document: object, script: object): Promise<string> {
  const { read } = await drive(compileLoop(document), script);
  return explain(recordOf(read)).sentence;
}

const call = { text: '', tools: [{ name: 'find', args: {} }] };
const agents = [{ id: 'bot', tools: ['find'] }];
const tools = { find: { effect: 'read' } };

const flow = {
  id: 'f',
  entry: 'look',
  nodes: [
    { id: 'look', type: 'tool', tool: 'find', routes: [{ when: 'look.result.n > 3.0', to: 'big' }, { to: 'small' }] },
    { id: 'big', type: 'terminal', output: 'big' },
    { id: 'small', type: 'terminal', output: 'small' },
  ],
};

test('the condition of a route, by its text', async () => {
  expect(await sentence({ tools, flow }, { tools: { find: [{ result: { n: 7 } }] } })).toBe(
    'The agent was allowed to call find, chose path look > big, called tools find, spent 2 steps, 1 tool call, 0 s, updated state look from verified observations, and terminated with SUCCESS because the condition `look.result.n > 3.0` was met.',
  );
  expect(await sentence({ tools, flow }, { tools: { find: [{ result: { n: 1 } }] } })).toMatch(
    /with SUCCESS because the condition "the path ends at small" was met\.$/,
  );
});

test('the limit, and a result that was not accepted verifies nothing', async () => {
  const agent = { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] };
  const short = await sentence(
    { agents, tools, budgets: { model_calls: 1 }, flow: agent },
    { agents: { bot: [call, '7'] }, tools: { find: [{ result: 7 }] } },
  );
  expect(short).toMatch(
    /^The agent was allowed to call find within budgets.model_calls 1, chose path a, called tools find,/,
  );
  expect(short).toMatch(/because the limit budgets.model_calls was reached: .*; used by bot \(1\)\.$/);
  const failed = await sentence({ tools, flow }, { tools: { find: [{ error: 'fatal', message: 'gone' }] } });
  expect(failed).toMatch(/updated no state from verified observations, and .* because the tool find failed: gone\.$/);
});

test('who judged the answer of a loop', async () => {
  const script = { agents: { bot: [call, '7'] }, tools: { find: [{ result: 7 }] } };
  const judged = { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] };
  expect(await sentence({ agents, tools, loop: judged }, script)).toMatch(
    /updated state observations from verified observations, and .* the condition "every criterion holds" was met\.$/,
  );
  expect(await sentence({ agents, tools, loop: { agent: 'bot' } }, script)).toMatch(/"the verifier agrees" was met\.$/);
});
