/** A folder for one test file's databases, gone when the file is done. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export function freshPaths(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-journal-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  let count = 0;
  return () => join(root, `${count++}`, 'sluice.db');
}
