/**
 * File access below a root folder. A path is walked folder by folder. Each folder is opened without following symbolic links
 * and is addressed by its descriptor from then on, so a link that appears during the walk has no effect. Links are never
 * followed, not even inside the root: a link can change between the check and the use.
 */
import { randomBytes } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '@sluice-internal/engine/ports';
import { createFolder } from './create-folder.ts';

export interface FileRead {
  readonly data: Buffer;
  /** The size of the whole file, which can be larger than `data`. */
  readonly size: number;
}
export interface Entry {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'link' | 'other';
}

/** The path of the root inside the shell sandbox. An absolute path below it means the same file. */
export const MOUNT = '/workspace';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const BY_DESCRIPTOR = existsSync('/proc/self/fd');

/** The segments of a path. Throws if the path could lead out of the root. */
export function segmentsOf(path: string): string[] {
  const inside = path === MOUNT || path.startsWith(`${MOUNT}/`) ? path.slice(MOUNT.length + 1) : path;
  if (inside.includes('\0')) throw refused(path, 'contains a NUL character');
  if (/^([/\\]|[A-Za-z]:[/\\])/.test(inside))
    throw refused(path, 'is absolute; paths are relative to the work directory');
  const segments = inside.split('/').filter((name) => name !== '' && name !== '.');
  if (segments.includes('..')) throw refused(path, 'leads out of the work directory');
  return segments;
}

/** Reads at most `max` bytes. Null if the file does not exist. */
export async function readBeneath(root: string, path: string, max: number): Promise<FileRead | null> {
  return inFolder(root, path, { make: false }, async (folder, name) => {
    const handle = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) =>
      unlessMissing(error, path),
    );
    if (handle === null) return null;
    try {
      const size = await sizeOf(handle, path);
      const data = Buffer.alloc(Math.min(size, max));
      let filled = 0;
      while (filled < data.length) {
        const { bytesRead } = await handle.read(data, filled, data.length - filled, filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return { data: data.subarray(0, filled), size };
    } finally {
      await handle.close();
    }
  });
}

/** Replaces the file atomically: a reader sees the old content or the new one. */
export async function writeBeneath(root: string, path: string, data: Buffer): Promise<void> {
  await inFolder(root, path, { make: true }, async (folder, name) => {
    const before = await lstat(folder.at(name)).catch((error: unknown) => unlessMissing(error, path));
    if (before !== null && !before.isFile())
      throw refused(path, before.isSymbolicLink() ? 'is a symbolic link' : 'is not a file');
    const part = `.${name.slice(0, 100)}.${randomBytes(6).toString('hex')}`;
    const handle = await open(
      folder.at(part),
      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
      before === null ? 0o644 : before.mode & 0o777,
    );
    try {
      await handle.writeFile(data);
    } finally {
      await handle.close();
    }
    await rename(folder.at(part), folder.at(name));
    return null;
  });
}

/** False if the file does not exist. Of a symbolic link, the link itself is removed. */
export async function removeBeneath(root: string, path: string): Promise<boolean> {
  const removed = await inFolder(root, path, { make: false }, async (folder, name) => {
    const before = await lstat(folder.at(name)).catch((error: unknown) => unlessMissing(error, path));
    if (before === null) return false;
    if (before.isDirectory()) throw refused(path, 'is a directory');
    await unlink(folder.at(name));
    return true;
  });
  return removed === true;
}

/** Null if the folder does not exist. */
export async function listBeneath(root: string, path: string): Promise<Entry[] | null> {
  const folder = await enter(root, segmentsOf(path), path, false);
  if (folder === null) return null;
  try {
    const entries = await readdir(folder.at('.'), { withFileTypes: true });
    return entries
      .map((entry): Entry => ({
        name: entry.name,
        type: entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other',
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    await folder.close();
  }
}

interface Folder {
  at(name: string): string;
  close(): Promise<void>;
}

async function inFolder<T>(
  root: string,
  path: string,
  { make }: { readonly make: boolean },
  work: (folder: Folder, name: string) => Promise<T>,
): Promise<T | null> {
  const segments = segmentsOf(path);
  const name = segments.pop();
  if (name === undefined) throw refused(path, 'does not name a file');
  const folder = await enter(root, segments, path, make);
  if (folder === null) return null;
  try {
    return await work(folder, name);
  } finally {
    await folder.close();
  }
}

async function enter(root: string, segments: readonly string[], path: string, make: boolean): Promise<Folder | null> {
  if (make) createFolder(root);
  const base = await realpath(root).catch((error: unknown) => unlessMissing(error, path));
  if (base === null) return null;
  let folder = folderOf(await open(base, O_RDONLY | O_DIRECTORY), base);
  for (const name of segments) {
    const next = folder.at(name);
    try {
      if (make) await mkdir(next).catch(unlessThere);
      const handle = await open(next, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      const inner = folderOf(handle, next);
      await folder.close();
      folder = inner;
    } catch (error) {
      const isLink = await lstat(next).then(
        (stat) => stat.isSymbolicLink(),
        () => false,
      );
      await folder.close();
      if (isLink) throw refused(path, `goes through \`${name}\`, a symbolic link`);
      if (codeOf(error) === 'ENOTDIR') throw refused(path, `goes through \`${name}\`, which is not a directory`);
      return unlessMissing(error, path);
    }
  }
  return folder;
}

function folderOf(handle: FileHandle, path: string): Folder {
  return {
    at: (name) => (BY_DESCRIPTOR ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)),
    close: () => handle.close(),
  };
}

async function sizeOf(handle: FileHandle, path: string): Promise<number> {
  const stat = await handle.stat();
  if (!stat.isFile()) throw refused(path, stat.isDirectory() ? 'is a directory' : 'is not a regular file');
  return stat.size;
}

function unlessMissing(error: unknown, path: string): null {
  const code = codeOf(error);
  if (code === 'ENOENT') return null;
  if (code === 'ELOOP') throw refused(path, 'is a symbolic link');
  if (code === 'ENAMETOOLONG') throw refused(path, 'is too long');
  if (code === 'ENXIO') throw refused(path, 'is not a regular file');
  throw fail('fatal', 'FileError', `\`${path}\` cannot be used: ${code || String(error)}`);
}

function unlessThere(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function refused(path: string, why: string): Error {
  return fail('policy', 'PathError', `\`${path}\` ${why}`);
}
