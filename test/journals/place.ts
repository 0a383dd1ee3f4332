/**
 * A folder for one test file's databases, gone when the file is done. It is in memory where that has room, since no write
 * has to reach a disk.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 256 * 1024 * 1024;

export function freshPaths(): () => string {
  const root = mkdtempSync(join(hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'sluice-journal-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  let count = 0;
  return () => join(root, `${count++}`, 'sluice.db');
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
