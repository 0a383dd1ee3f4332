/** L8 for memory: `kill -9` around the write loses no entry and makes none twice. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { memoryFileOf, openMemoryStore } from '@sluice-internal/store-sqlite';
import { createEngine } from '@sluice-internal/library/compose';
import { program } from '../../../../test/support/programs.ts';
import { SCRIPT } from './remembering.ts';

test.each([
  ['before', 0],
  ['after', 1],
])('a process that is killed %s the write', { timeout: 60_000 }, async (when, left) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-memory-kill-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const journal = join(dir, 'runs.db');
  const { signal, stderr } = spawnSync(
    process.execPath,
    [program('packages/store-sqlite/test/memory/killed-writer.ts'), journal, when],
    {
      encoding: 'utf8',
    },
  );
  expect([signal, stderr]).toEqual(['SIGKILL', '']);
  expect(await entriesIn(journal)).toHaveLength(left);
  await using engine = createEngine({ journal, script: SCRIPT, leaseMs: 50 });
  await engine.resume('r1');
  expect(await engine.settled('r1')).toMatchObject({ code: 'SUCCESS', usage: { memoryWrites: 1, toolCalls: 1 } });
  expect(await entriesIn(journal)).toMatchObject([{ answer: 'The order is A-17.', run: 'r1', state: 'active' }]);
});

async function entriesIn(journal: string): Promise<readonly object[]> {
  const store = openMemoryStore(memoryFileOf(journal));
  try {
    return await store.find({ operator: 'test' }, { now: Date.now() });
  } finally {
    await store.close();
  }
}
