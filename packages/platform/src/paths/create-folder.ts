/** Creates folders one at a time: `recursive` of Node never returns if the system refuses the place, as in `/proc/none`. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Creates a folder and the missing folders above it. */
export function createFolder(path: string, mode?: number): void {
  const missing: string[] = [];
  let existing = resolve(path);
  // A missing drive has no folder above it.
  for (; !existsSync(existing) && existing !== missing[0]; existing = dirname(existing)) missing.unshift(existing);
  for (const folder of missing) createOne(folder, mode);
  // A file in its place: the caller gets the error that names it.
  if (!statSync(path).isDirectory()) mkdirSync(path);
}

function createOne(folder: string, mode: number | undefined): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory()) throw error;
  }
}
