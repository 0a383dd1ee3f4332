/** Both memory stores: search, expiry, quarantine, erasure, and entries that are added twice. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { MemoryViolation, entryId } from '@sluice-internal/engine/ports';
import type { MemoryEntry, MemoryScope, MemoryStore } from '@sluice-internal/engine/ports';
import { createMemoryStore, memoryBeside, openMemoryStore } from '../../src/memory-store.ts';

const ANN: MemoryScope = { tenant: 't', user: 'ann', agent: 'clerk', share: null };
const BOB: MemoryScope = { ...ANN, user: 'bob' };
const OPERATOR = { operator: 'olga' };
const NOW = 1000;

const dir = mkdtempSync(join(tmpdir(), 'sluice-memory-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const entry = (name: string, more: Partial<MemoryEntry> = {}): MemoryEntry => ({
  id: `m_${name}`,
  owner: ANN,
  goal: 'goal',
  answer: name,
  sources: [{ id: 'o1', tool: 'find' }],
  trust: 'trusted',
  run: `r_${name}`,
  validator: 'memory.write',
  at: 1,
  expiresAt: 10_000,
  state: 'active',
  reason: null,
  released: null,
  ...more,
});
const ids = (found: readonly MemoryEntry[]): readonly string[] => found.map(({ id }) => id);

describe.each<[string, () => MemoryStore]>([
  ['in this process', () => createMemoryStore()],
  ['in SQLite', () => openMemoryStore(':memory:')],
])('a memory store %s', (_, open) => {
  test('finds by words, without regard to case and place, then the newest', async () => {
    const memory = open();
    await memory.add(ANN, entry('tea', { answer: 'Ann likes Oolong tea', at: 1 }));
    await memory.add(ANN, entry('other', { answer: 'nothing of the kind', at: 2 }));
    await memory.add(ANN, entry('goal', { goal: 'which OOLONG?', at: 3 }));
    expect(ids(await memory.find(ANN, { text: 'oolong, tea!', now: NOW }))).toEqual(['m_tea', 'm_goal', 'm_other']);
    expect(ids(await memory.find(ANN, { text: 'oolong tea', only: true, now: NOW }))).toEqual(['m_tea', 'm_goal']);
    expect(ids(await memory.find(ANN, { text: 'oolong', limit: 1, only: true, now: NOW }))).toHaveLength(1);
    expect(ids(await memory.find(ANN, { now: NOW }))).toEqual(['m_goal', 'm_other', 'm_tea']);
  });

  test('signs of the search language are plain text', async () => {
    const memory = open();
    await memory.add(ANN, entry('x', { answer: 'a "quoted" word* NEAR(b) -c ^d' }));
    for (const text of ['"', '*', 'NEAR(', 'quoted"', '- ^', 'text:', '', '\u0000'])
      expect(ids(await memory.find(ANN, { text, now: NOW }))).toEqual(['m_x']);
  });

  test('finds by a vector, and entries without one come after', async () => {
    const memory = open();
    await memory.add(ANN, entry('east'), [1, 0]);
    await memory.add(ANN, entry('north'), [0, 1]);
    await memory.add(ANN, entry('old', { at: 9 }));
    expect(ids(await memory.find(ANN, { vector: [0.1, 1], limit: 2, now: NOW }))).toEqual(['m_north', 'm_east']);
    expect(ids(await memory.find(ANN, { vector: [0, 1], only: true, now: NOW }))).toEqual(['m_north']);
  });

  test('an expired entry is gone for the agent, and the operator can delete it', async () => {
    const memory = open();
    await memory.add(ANN, entry('x', { expiresAt: NOW }));
    expect(await memory.find(ANN, { now: NOW })).toEqual([]);
    expect(await memory.get(ANN, 'm_x', NOW)).toBeNull();
    expect(ids(await memory.find(OPERATOR, { now: NOW }))).toEqual(['m_x']);
    expect(await memory.eraseExpired(NOW)).toBe(1);
    expect(await memory.find(OPERATOR, { now: NOW })).toEqual([]);
  });

  test('a quarantined entry is read only after its release', async () => {
    const memory = open();
    await memory.add(ANN, entry('x', { state: 'quarantined', reason: 'why' }));
    expect(await memory.find(ANN, { text: 'x', now: NOW })).toEqual([]);
    expect(await memory.get(ANN, 'm_x', NOW)).toBeNull();
    expect(ids(await memory.quarantined(ANN, 5))).toEqual(['m_x']);
    expect(await memory.release(OPERATOR, 'm_x', 7)).toMatchObject({ released: { by: 'olga', at: 7 } });
    expect(await memory.find(ANN, { now: NOW })).toMatchObject([{ state: 'active', reason: 'why' }]);
    expect(await memory.quarantined(ANN, 5)).toEqual([]);
    expect(await memory.release(OPERATOR, 'm_none', 7)).toBeNull();
  });

  test('an entry is added once', async () => {
    const memory = open();
    await memory.add(ANN, entry('x'));
    expect(await memory.add(ANN, entry('x', { at: 99, answer: 'other' }))).toMatchObject({ at: 1, answer: 'x' });
    expect(await memory.find(ANN, { now: NOW })).toMatchObject([{ answer: 'x' }]);
    await expect(memory.add(BOB, entry('x', { owner: BOB }))).rejects.toBeInstanceOf(MemoryViolation);
  });

  test('each operation on an entry of another user is a violation', async () => {
    const memory = open();
    await memory.add(ANN, entry('x'));
    await expect(memory.get(BOB, 'm_x', NOW)).rejects.toMatchObject({ code: 'memory-violation', operation: 'read' });
    await expect(memory.forget(BOB, 'm_x')).rejects.toBeInstanceOf(MemoryViolation);
    await expect(memory.release({ operator: 'o', tenant: 'bank' }, 'm_x', 1)).rejects.toBeInstanceOf(MemoryViolation);
    await expect(memory.add(BOB, entry('y'))).rejects.toBeInstanceOf(MemoryViolation);
    expect(await memory.find(BOB, { now: NOW })).toEqual([]);
    expect(ids(await memory.find(ANN, { now: NOW }))).toEqual(['m_x']);
  });

  test('the entries of a run are erased together', async () => {
    const memory = open();
    for (const name of ['a', 'b', 'c']) await memory.add(ANN, entry(name, { run: name === 'c' ? 'r2' : 'r1' }));
    expect(await memory.eraseRuns(['r1', 'r9'])).toBe(2);
    expect(ids(await memory.find(ANN, { text: 'a b c', now: NOW }))).toEqual(['m_c']);
  });
});

describe('memory in a file', () => {
  test('outlives its process, and deleted text is not left in the file', async () => {
    const journal = join(dir, 'a.db');
    const first = memoryBeside(journal);
    expect(await first.find(ANN, { now: NOW })).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
    await first.add(ANN, entry('x', { answer: 'zanzibarlike secret' }));
    await first.close();
    const later = memoryBeside(journal);
    expect(await later.find(ANN, { text: 'zanzibarlike', only: true, now: NOW })).toHaveLength(1);
    expect(readFileSync(`${journal}.memory`, 'latin1')).toContain('zanzibarlike');
    expect(await later.forget(ANN, 'm_x')).toBe(true);
    await later.close();
    expect(readFileSync(`${journal}.memory`, 'latin1')).not.toContain('zanzibarlike');
  });

  test('a file that is not a database is an error with its name', () => {
    expect(() => openMemoryStore(dir)).toThrow(expect.objectContaining({ name: 'SluiceError' }) as Error);
  });
});

test('the same effect of a run has the same entry, and no other has', () => {
  expect(entryId(ANN, 'r', 'k')).toBe(entryId({ ...ANN }, 'r', 'k'));
  const others = [entryId(BOB, 'r', 'k'), entryId(ANN, 'r2', 'k'), entryId(ANN, 'r', 'k2')];
  expect(new Set([entryId(ANN, 'r', 'k'), ...others]).size).toBe(4);
});
