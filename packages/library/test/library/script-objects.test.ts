/** A program in JavaScript can pass any value as a script, or as options of a start. */
import { expect, test } from 'vitest';
import { CompileError, createEngine, openMemory } from '../../src/index.ts';
import type { Script } from '../../src/host/scripted/script.ts';
import { compiled } from '../../../../test/support/harness.ts';

const FLOW = compiled({
  agents: [{ id: 'a' }],
  flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'a' }] },
});
const engineWith = (script: unknown) => createEngine({ journal: openMemory(), script: script as Script });

test.each<[unknown, string]>([
  [{ agent: { a: 'x' } }, 'unknown-key: agent: unknown key `agent` in this script. Did you mean `agents`?'],
  [{ agents: { a: [{ txt: 'x' }] } }, 'agents.a[0].txt: unknown key `txt` in item 1 of `a`. Did you mean `text`?'],
  [{ agents: ['a'] }, 'wrong-type: agents: `agents` must be a map, but is a list of 1'],
  [{ agents: { a: { delayMs: 'x' } } }, 'agents.a.delayMs: `delayMs` must be a whole number'],
  [{ agents: { a: { when: 'inputt == 1', text: 'x' } } }, 'Did you mean `input`?'],
  [{ approvals: { gate: { text: 'yes' } } }, 'the answer to `gate` needs `choice`'],
  ['agents: {}', 'wrong-type: this script must be a map, but is the text'],
  [null, 'wrong-type: this script must be a map'],
])('the script %j is refused when the engine is created', (script, message) => {
  expect(() => engineWith(script)).toThrow(CompileError);
  expect(() => engineWith(script)).toThrow(message);
});

test('a script may leave out what it declares as undefined, and its numbers are texts as in a file', async () => {
  await using engine = engineWith({ tools: undefined, agents: { a: 42 } });
  expect((await (await engine.run(FLOW)).result()).output).toBe('42');
});

test.each([
  [
    { script: { agents: { a: 'x' } } },
    '`script` is not an option of a start',
    'Pass it to `createEngine({ script })`.',
  ],
  [{ sede: 1 }, '`sede` is not an option of a start', 'Did you mean `seed`?'],
])('the option %j of a start is refused', async (options, message, help) => {
  await using engine = engineWith({ agents: { a: 'x' } });
  await expect(engine.run(FLOW, {}, options as object)).rejects.toMatchObject({ code: 'bad-start', message, help });
});

test.each<[object, string, string]>([
  [{ journl: 'runs.db' }, '`journl` is not an option of `createEngine`', 'Did you mean `journal`?'],
  [{ tenat: 'acme' }, '`tenat` is not an option of `createEngine`', 'Did you mean `tenant`?'],
])('the option %j of an engine is refused', (options, message, help) => {
  expect(() => createEngine({ journal: openMemory(), ...options })).toThrow(
    expect.objectContaining({ code: 'bad-start', message, help }) as Error,
  );
});

test.each([undefined, null, '', ' ', 5, {}])('an answer by %j is refused, because it names no person', async (by) => {
  const gate = compiled({
    flow: { id: 'f', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
  });
  await using engine = engineWith({});
  const run = await engine.run(gate);
  const [question] = await run.waiting();
  const refusal = { code: 'bad-answer', message: 'the answer does not name the person who gives it' };
  const answer = { choice: 'approve', by: by as string };
  await expect(engine.answer(question?.id ?? '', answer)).rejects.toMatchObject(refusal);
  await expect(run.answer('gate', 'approve', {} as never)).rejects.toMatchObject(refusal);
  expect((await run.report()).state).toBe('suspended');
});
