import { describe, expect, test } from 'vitest';
import { failureOf } from '../../src/runtime/failures.ts';
import { createMemoryStore, MemoryViolation, ScopedMemory } from '../../src/effects/memory/scoped-memory.ts';

describe('L12: an agent reads no memory but its own', () => {
  const store = createMemoryStore();
  const writer = new ScopedMemory('writer', store);
  const editor = new ScopedMemory('editor', store);

  test('the owner may do everything', async () => {
    await writer.set('writer', 'notes', { n: 1 });
    expect(await writer.get('writer', 'notes')).toEqual({ n: 1 });
    expect(await writer.keys('writer')).toEqual(['notes']);
    expect(await editor.keys('editor')).toEqual([]);
    expect(await writer.delete('writer', 'notes')).toBe(true);
    expect(await writer.get('writer', 'notes')).toBeUndefined();
  });

  test.each([
    ['get', (memory: ScopedMemory) => memory.get('editor', 'notes')],
    ['set', (memory: ScopedMemory) => memory.set('editor', 'notes', 1)],
    ['delete', (memory: ScopedMemory) => memory.delete('editor', 'notes')],
    ['keys', (memory: ScopedMemory) => memory.keys('editor')],
  ])('anybody else is refused: %s', async (_, operation) => {
    const error = await operation(writer).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(MemoryViolation);
    expect(error).toMatchObject({ caller: 'editor', owner: 'writer' });
    expect(failureOf(error)).toMatchObject({ class: 'policy', type: 'MemoryViolation' });
    expect(await store.get('writer', 'notes')).toBeUndefined();
  });
});
