/** Persistent memory: written only after the run, only what observations support, and read by its owner alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileMemory } from '../../src/effects/memory/file-memory.ts';
import type { Json } from '../../src/expr/json.ts';
import { realClock } from '../../src/runtime/engine/clock.ts';
import { isMemoryCheck, memoryPerformer } from '../../src/effects/memory/write-gate.ts';
import type { Call } from '../../src/runtime/ports.ts';
import { createMemoryStore } from '../../src/effects/memory/scoped-memory.ts';
import type { MemoryStore } from '../../src/effects/memory/scoped-memory.ts';
import { StateViolation, openState } from '../../src/effects/state-stores.ts';
import { compileLoop, drive } from './drive.ts';

const observations = [
  { id: 'a.1.1.0', tool: 'find', ok: true },
  { id: 'a.2.1.0', tool: 'find', ok: false },
];
const check = (name: string, input: { [field: string]: Json }): Call =>
  ({
    command: { kind: 'check', name, run: 'r_1', input: { owner: 'a', goal: 'g', answer: 'x', observations, ...input } },
    clock: realClock,
  }) as unknown as Call;

describe('the write gate', () => {
  test.each([
    ['an answer that nothing supports', { citations: [] }, 'nothing that was observed supports it'],
    ['an observation that never was', { citations: ['a.9.9.9'] }, 'a.9.9.9 was never observed'],
    ['an observation that failed', { citations: ['a.1.1.0', 'a.2.1.0'] }, 'a.2.1.0 is no success'],
    ['no answer', { answer: null, citations: ['a.1.1.0'] }, 'there is no answer'],
  ])('turns away %s §pathologies/memory-poisoning', async (_, input, reason) => {
    const store = createMemoryStore();
    expect(await memoryPerformer(store).perform(check('memory.write', input))).toEqual({
      ok: true,
      value: { ok: false, reason },
    });
    expect(await store.keys('a')).toEqual([]);
  });

  test('keeps what is supported, with its sources, once per run §pathologies/memory-write-poisoning', async () => {
    const store = createMemoryStore();
    const gate = memoryPerformer(store);
    for (let times = 0; times < 2; times++) await gate.perform(check('memory.write', { citations: ['a.1.1.0'] }));
    expect(await store.keys('a')).toEqual(['r_1']);
    expect(await store.get('a', 'r_1')).toMatchObject({
      answer: 'x',
      sources: [{ id: 'a.1.1.0', tool: 'find' }],
      validator: 'memory.write',
    });
    expect(await gate.perform(check('memory.read', {}))).toEqual({
      ok: true,
      value: { entries: [{ goal: 'g', answer: 'x', run: 'r_1' }] },
    });
    expect(await gate.perform(check('memory.read', { owner: 'b' }))).toEqual({ ok: true, value: { entries: [] } });
  });

  test('knows its own checks', () => {
    expect(isMemoryCheck(check('memory.read', {}).command)).toBe(true);
    expect(isMemoryCheck(check('policy:rate', {}).command)).toBe(false);
  });
});

test('memory in files outlives whoever wrote it, whatever its names are', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-memory-'));
  try {
    await fileMemory(dir).set('../ann/é=%', 'key.one', { x: 1 });
    const later = fileMemory(dir);
    expect(await later.keys('../ann/é=%')).toEqual(['key.one']);
    expect(await later.get('../ann/é=%', 'key.one')).toEqual({ x: 1 });
    expect(await later.get('ann', 'key.one')).toBeUndefined();
    expect(await later.delete('../ann/é=%', 'key.one')).toBe(true);
    expect(await later.keys('../ann/é=%')).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['find'] }],
  tools: { find: { effect: 'read' } },
  loop: { agent: 'bot', memory: true, review: true },
};
const SCRIPT = {
  agents: { bot: [{ tools: [{ name: 'find', args: { q: 1 } }], text: '' }, 'it is 7'] },
  tools: { find: [{ result: 7 }] },
};

describe('the seven kinds of state', () => {
  test('a run remembers what it verified, and the next one is told', async () => {
    const memory = createMemoryStore();
    const flow = compileLoop(DOCUMENT);
    const first = await drive(flow, SCRIPT, { memory, answers: [{ choice: 'approve' }] });
    expect(first.report).toMatchObject({ code: 'SUCCESS', usage: { memoryWrites: 1, sideEffects: 0 } });
    const second = await drive(flow, SCRIPT, { memory, answers: [{ choice: 'approve' }] });
    expect(second.prompts[0]).toContain('Remembered:\n- what is it?: it is 7');
    expect(first.prompts[0]).not.toContain('Remembered');
  });

  test('a store that takes its time costs a rehearsed run none of its own', async () => {
    const kept = createMemoryStore();
    const memory: MemoryStore = {
      ...kept,
      keys: (owner) => kept.keys(owner),
      get: (owner, key) => kept.get(owner, key),
      delete: (owner, key) => kept.delete(owner, key),
      set: async (owner, key, value) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await kept.set(owner, key, value);
      },
    };
    const { report } = await drive(compileLoop({ ...DOCUMENT, budgets: { wall_clock_seconds: 60 } }), SCRIPT, {
      memory,
      answers: [{ choice: 'approve' }],
    });
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { memoryWrites: 1 } });
  });

  test('nobody gets more of a run than the table allows §terms/task-state §handoffs/governance', async () => {
    const { read } = await drive(compileLoop(DOCUMENT), SCRIPT, {
      memory: createMemoryStore(),
      answers: [{ choice: 'approve' }],
    });
    const stores = openState(read, 'bot', createMemoryStore());
    expect(await stores.read('model', 'observations')).toMatchObject({
      observations: [{ tool: 'find', ok: true, result: 7 }],
    });
    expect(await stores.read('model', 'task')).toMatchObject({ answer: 'it is 7', finished: [] });
    expect(await stores.read('model', 'evidence')).toMatchObject([{ source: 'find', permission: 'find', value: 7 }]);
    expect(await stores.read('model', 'scratchpad')).toEqual({});
    expect(await stores.read('compliance', 'audit')).toMatchObject([
      { event: 'started' },
      { event: 'answered', question: { about: 'review' }, answer: { choice: 'approve', by: 'ann' } },
      { event: 'ended', code: 'SUCCESS' },
    ]);
    for (const category of ['trace', 'audit'] as const)
      await expect(stores.read('model', category)).rejects.toThrow(StateViolation);
    await expect(stores.read('system', 'audit')).rejects.toThrow('may not read audit');
    await expect(stores.remember('model', 'k', 1)).rejects.toThrow('the model may not write memory');
    await stores.remember('system', 'k', 1);
    expect(await stores.read('model', 'memory')).toEqual({ k: 1 });
  });

  test('nothing is remembered while a run goes on', async () => {
    const { read } = await drive(compileLoop(DOCUMENT), SCRIPT, { memory: createMemoryStore(), answers: [] });
    const stores = openState(read, 'bot', createMemoryStore());
    await expect(stores.remember('system', 'k', 1)).rejects.toThrow('the run has not ended');
    expect(await stores.read('model', 'scratchpad')).toMatchObject({ reply: { text: 'it is 7' } });
  });
});
