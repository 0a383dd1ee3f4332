/**
 * Makes a folder and those above it that are missing. One by one, since Node's own recursive `mkdir` never comes back where
 * a file system denies that a folder exists in which it makes nothing, as `/proc` does.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { usage } from './usage.ts';

/** `who` takes the folder: an option or a command, for the message. */
export function makeFolder(who: string, path: string): void {
  if (path === '') throw usage(`\`${who}\` takes a folder, not an empty name`, HELP);
  const missing: string[] = [];
  let there = resolve(path);
  for (; !existsSync(there); there = dirname(there)) missing.unshift(there);
  if (!isFolder(there))
    throw usage(`\`${who}\` takes a folder, and \`${missing.length === 0 ? path : there}\` is a file`, HELP);
  for (const folder of missing) make(who, folder);
}

const HELP = 'Name a folder that is there or can be made, or leave it out.';

function make(who: string, folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Somebody else may have made it in between.
    if (code === 'EEXIST' && existsSync(folder) && isFolder(folder)) return;
    if (KNOWN_ELSEWHERE.has(code)) throw error;
    throw usage(`\`${who}\` takes a folder, and \`${folder}\` cannot be made: ${message}`, HELP);
  }
}

/** A disk without room, or one that must not be written, is told as such. */
const KNOWN_ELSEWHERE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC']);

function isFolder(path: string): boolean {
  return statSync(path).isDirectory();
}
