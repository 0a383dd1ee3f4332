/** The kinds of state: who may read and write each, how long it lives, and what stands in it. */
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/expr/json.ts';
import { createMemoryStore } from '../../src/effects/memory/scoped-memory.ts';
import { CATEGORIES, StateViolation, openState } from '../../src/effects/state-stores.ts';
import type { CategoryName, StateStores } from '../../src/effects/state-stores.ts';
import { compileLoop, drive } from '../loop/drive.ts';

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['find', 'save'] }],
  tools: { find: { effect: 'read', permission: 'library' }, save: { effect: 'write' } },
  loop: { agent: 'bot', memory: true, review: true },
};
const SCRIPT = {
  agents: {
    bot: [
      { tools: [{ name: 'find', args: { q: 1 } }], text: 'a note of mine' },
      { tools: [{ name: 'find', args: { q: 2 } }], text: '' },
      'it is 7',
    ],
  },
  tools: { find: [{ result: 7 }, { error: 'fatal' as const, message: 'gone' }] },
};

async function stores(answered: boolean): Promise<StateStores> {
  const memory = createMemoryStore();
  const { read } = await drive(compileLoop(DOCUMENT), SCRIPT, {
    memory,
    answers: answered ? [{ choice: 'approve' }] : [],
  });
  return openState(read, 'bot', memory);
}

interface Row {
  readonly what: string;
  readonly category: CategoryName;
  readonly tenure: string;
  /** What is there while the run waits, and after it. */
  readonly during: unknown;
  readonly after: unknown;
  readonly readers: readonly ('model' | 'system' | 'compliance')[];
}

const OBSERVED = {
  observations: [
    { tool: 'find', ok: true, result: 7 },
    { tool: 'find', ok: false, error: 'gone' },
  ],
};
const ACTORS = ['model', 'system', 'compliance'] as const;
const STARTED = { event: 'started' };
const ROWS: readonly Row[] = [
  {
    what: 'scratchpad: there as long and for whom it should be §state/ephemeral-scratchpad',
    category: 'scratchpad',
    tenure: 'step',
    during: { reply: { text: 'it is 7' } },
    after: {},
    readers: ['model', 'system'],
  },
  {
    what: 'task: there as long and for whom it should be §state/structured-task-state',
    category: 'task',
    tenure: 'run',
    during: { goal: 'what is it?', answer: 'it is 7', task: { version: 4 } },
    after: { goal: 'what is it?', answer: 'it is 7' },
    readers: ['model', 'system', 'compliance'],
  },
  {
    what: 'evidence: there as long and for whom it should be §state/retrieved-evidence',
    category: 'evidence',
    tenure: 'run',
    during: [{ source: 'find', permission: 'library', value: 7, at: expect.any(Number) as number }],
    after: [{ source: 'find', permission: 'library', value: 7 }],
    readers: ['model', 'system', 'compliance'],
  },
  {
    what: 'observations: there as long and for whom it should be §state/tool-observations',
    category: 'observations',
    tenure: 'archived',
    during: OBSERVED,
    after: OBSERVED,
    readers: ['model', 'system', 'compliance'],
  },
  {
    what: 'memory: there as long and for whom it should be §state/persistent-memory',
    category: 'memory',
    tenure: 'long',
    during: {},
    after: expect.objectContaining({}) as Json,
    readers: ['model', 'system', 'compliance'],
  },
  {
    what: 'trace: there as long and for whom it should be §state/execution-trace',
    category: 'trace',
    tenure: 'permanent',
    during: expect.arrayContaining([expect.objectContaining({ type: 'run.started' })]) as Json,
    after: expect.arrayContaining([expect.objectContaining({ type: 'run.ended', code: 'SUCCESS' })]) as Json,
    readers: ['system', 'compliance'],
  },
  {
    what: 'audit: there as long and for whom it should be §state/audit-record',
    category: 'audit',
    tenure: 'permanent',
    during: [STARTED],
    after: [
      STARTED,
      { event: 'answered', answer: { choice: 'approve', by: 'ann' } },
      { event: 'ended', code: 'SUCCESS' },
    ],
    readers: ['compliance'],
  },
];

describe('the kinds of state', () => {
  test.each(ROWS.map((row) => [row.what, row] as const))('%s', async (_, row) => {
    const { category, readers, tenure } = row;
    expect(CATEGORIES[category].tenure).toBe(tenure);
    const [reader] = readers;
    const [during, after] = [await stores(false), await stores(true)];
    expect(await during.read(reader ?? 'system', category)).toMatchObject(row.during as object);
    expect(await after.read(reader ?? 'system', category)).toMatchObject(row.after as object);
    const outcomes = await Promise.allSettled(ACTORS.map((actor) => after.read(actor, category)));
    const admitted = ACTORS.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    expect(admitted).toEqual(readers);
  });

  test('what is remembered names its sources, and only the system writes it, after the run §state/persistent-memory', async () => {
    const [during, after] = [await stores(false), await stores(true)];
    expect(Object.values((await after.read('model', 'memory')) as object)).toMatchObject([
      { answer: 'it is 7', sources: [{ tool: 'find' }], validator: 'memory.write' },
    ]);
    await expect(after.remember('model', 'k', 1)).rejects.toThrow(StateViolation);
    await expect(during.remember('system', 'k', 1)).rejects.toThrow('the run has not ended');
  });

  test('are all there', () => {
    expect(ROWS.map(({ category }) => category)).toEqual(Object.keys(CATEGORIES));
  });
});
