/** The kinds of state, shown by runs: who writes each kind, who sees it, and how long it lives. */
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import type { Driven } from '../../packages/notations/test/loop/drive.ts';

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['find'] }],
  tools: { find: { effect: 'read', permission: 'library' } },
  loop: { agent: 'bot', memory: true, review: true },
};
const FIND = (q: number, text = '') => ({ tools: [{ name: 'find', args: { q } }], text });
const SCRIPT = {
  agents: { bot: [FIND(1, 'a note of mine'), FIND(2), 'it is 7'] },
  tools: { find: [{ result: 7 }, { error: 'fatal' as const, message: 'gone' }] },
};
const APPROVED = { answers: [{ choice: 'approve' }] };
const run = (options: Parameters<typeof drive>[2] = APPROVED): Promise<Driven> =>
  drive(compileLoop(DOCUMENT), SCRIPT, options);
const slot = ({ read }: Driven, name: string): unknown => read.state.threads.get('0')?.slots[name];

describe('the kinds of state', () => {
  test('scratchpad: notes of one step are gone in the next §state/ephemeral-scratchpad', async () => {
    const flow = compileLoop({
      ...DOCUMENT,
      agents: [...DOCUMENT.agents, { id: 'planner' }],
      loop: { planner: 'planner', executor: 'bot' },
    });
    const steps = [
      { id: 'a', do: 'Find it.', tool: 'find' },
      { id: 'b', do: 'Say it.', after: ['a'] },
    ];
    const { report, prompts } = await drive(flow, {
      agents: { planner: [JSON.stringify({ steps })], bot: [FIND(1, 'a note of mine'), 'found 7', 'it is 7'] },
      tools: { find: [{ result: 7 }] },
    });
    expect(report.code).toBe('SUCCESS');
    expect(prompts.map((prompt) => prompt.includes('a note of mine'))).toEqual([false, false, true, false, false]);
  });

  test('task: a model reads it, and a reply that names its fields changes none of them §state/structured-task-state', async () => {
    const forged = JSON.stringify({ status: 'complete', answer: 'it is 7', goal: 'another', plan: [], version: 99 });
    const driven = await drive(compileLoop({ ...DOCUMENT, loop: { agent: 'bot' } }), {
      ...SCRIPT,
      agents: { bot: [FIND(1), forged] },
    });
    expect(driven.prompts.every((prompt) => prompt.includes('Goal: what is it?'))).toBe(true);
    expect([slot(driven, 'goal'), slot(driven, 'plan')]).toEqual(['what is it?', [{ id: 'goal' }]]);
    expect(slot(driven, 'task')).toEqual({ version: 3, finished: 0 });
  });

  test('evidence: what was read has its source, time and permission §state/retrieved-evidence', async () => {
    const { events, program } = (await run()).read;
    const asked = events.find((event) => event.type === 'effect.requested' && event.name === 'find');
    expect(asked).toMatchObject({ kind: 'tool', name: 'find', at: expect.any(Number) as number });
    expect(
      events.find((event) => event.type === 'effect.settled' && event.key === asked?.['key' as never]),
    ).toMatchObject({ result: { ok: true, value: 7 }, at: expect.any(Number) as number });
    expect(program.flow.tools['find']?.permission).toBe('library');
  });

  test('observations: added in order, failures included, and kept to the end §state/tool-observations', async () => {
    const driven = await run();
    expect(slot(driven, 'observations')).toMatchObject([
      { tool: 'find', ok: true, result: 7 },
      { tool: 'find', ok: false, error: 'gone' },
    ]);
  });

  test('memory: written after the answer stands, with its sources, and not before §state/persistent-memory', async () => {
    const memory = createMemoryStore();
    await run({ memory, answers: [] });
    expect(await memory.find({ operator: 'ann' }, { now: 0 })).toEqual([]);
    const { report } = await run({ memory, ...APPROVED });
    expect(await memory.find({ operator: 'ann' }, { now: 0 })).toMatchObject([
      { answer: 'it is 7', sources: [{ tool: 'find' }], validator: 'memory.write', run: report.run },
    ]);
  });

  test('trace: grows while the run goes on, and ends with it §state/execution-trace', async () => {
    const [waiting, ended] = [(await run({ answers: [] })).read.events, (await run()).read.events];
    expect(waiting.map(({ seq, type }) => [seq, type])).toEqual(
      ended.slice(0, waiting.length).map(({ seq, type }) => [seq, type]),
    );
    expect(ended.at(-1)).toMatchObject({ type: 'run.ended', code: 'SUCCESS' });
  });

  test('audit: names who answered, and no prompt shows it to an agent §state/audit-record', async () => {
    const { read, hashes, prompts } = await run();
    const answers = read.events.filter(
      (event) => event.type === 'effect.settled' && 'by' in Object(event.result.ok && event.result.value),
    );
    expect(answers).toMatchObject([{ result: { value: { choice: 'approve', by: 'ann' } } }]);
    expect(prompts.some((prompt) => prompt.includes('ann') || hashes.some((hash) => prompt.includes(hash)))).toBe(
      false,
    );
  });
});
