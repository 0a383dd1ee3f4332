/**
 * Before the tests: temporary files are in memory where that is possible, since no write has to reach a disk. A process that is
 * killed loses as little there as on a disk.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, readdirSync, rmSync, statSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { steadyFolder } from '../support/steady-folder.ts';

const IN_MEMORY = '/dev/shm';
const PREFIX = 'sluice-tests-';
const ROOM_BYTES = 4 * 1024 ** 3;
const ABANDONED_MS = 3_600_000;

export function setup(): void {
  if (!hasRoom()) return;
  removeAbandoned();
  const folder = steadyFolder(`${PREFIX}${crc32(import.meta.dirname)}`, IN_MEMORY);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Some commands run as another user.
  chmodSync(folder, 0o1777);
  if (canExecuteIn(folder)) process.env['TMPDIR'] = folder;
}

function hasRoom(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
  } catch {
    return false;
  }
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES;
}

/** A killed test run leaves its folder. No test run takes that long. */
function removeAbandoned(): void {
  for (const name of readdirSync(IN_MEMORY).filter((each) => each.startsWith(PREFIX))) {
    const folder = join(IN_MEMORY, name);
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found?.uid === process.getuid?.() && found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS)
      rmSync(folder, { recursive: true, force: true });
  }
}

/** Some systems execute no files in memory. */
function canExecuteIn(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(program).status === 0;
}
