/** Hashes of code files, and the rules by which a path means a file. */
import { hash } from 'node:crypto';
import { lstatSync, readFileSync, readdirSync, readlinkSync, realpathSync, statSync, type Dirent } from 'node:fs';
import { basename, dirname, join, parse, relative, resolve, sep } from 'node:path';
import { SluiceError } from '@sluice-internal/engine/ports';

const BINARY = /\.(?:node|wasm)$/;
/** Files of a package that Node can load as code or as data of code. */
const LOADABLE = /(?:^|\/)(?:[^/.]+|.*\.(?:[cm]?[jt]s|[jt]sx|json|node|wasm))$/;
const TYPES = /\.d\.[cm]?ts$/;
const FILES_MAX = 50_000;

/** As Node sees a file: text without a byte order mark, or bytes. */
export function hashOf(path: string, data: Buffer | string): string {
  if (BINARY.test(path)) return hash('sha256', data, 'base64url');
  const text = typeof data === 'string' ? data : data.toString('utf8');
  return hash('sha256', text.replace(/^\uFEFF/, ''), 'base64url');
}

/** A file that is missing is empty: it is a change when it appears or disappears. */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Every loadable file of a package, without the packages that are installed inside of it. */
export function filesOfPackage(root: string): { readonly hash: string; readonly files: ReadonlyMap<string, string> } {
  const files = new Map<string, string>();
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== 'node_modules') folders.push(path);
      if (!entry.isFile() || !LOADABLE.test(path) || TYPES.test(path)) continue;
      files.set(path, hashOf(path, readBytes(path)));
      if (files.size > FILES_MAX) throw tooLarge(root);
    }
  const lines = [...files].map(([path, each]) => `${relative(root, path)}\0${each}`).toSorted();
  return { hash: hash('sha256', lines.join('\n'), 'base64url'), files };
}

/** Node cannot load files from a folder that cannot be read. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function tooLarge(root: string): SluiceError {
  return new SluiceError(
    'unsafe-module',
    `the package \`${root}\` has more than ${FILES_MAX} files, so a run cannot be pinned to it`,
    'Import the module from a smaller package.',
  );
}

export function isFolder(path: string): boolean {
  return kindOf(path) === 'folder';
}

/** Null for a path that cannot be used, such as one that is too long or a link to itself. */
export function kindOf(path: string): 'file' | 'folder' | null {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() === true ? 'file' : stat?.isDirectory() === true ? 'folder' : null;
  } catch {
    return null;
  }
}

/** The path without symbolic links, as far as it exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !parse(way).root);
}

const LINKS_MAX = 40;

/** The files that decide the meaning of a path: each symbolic link on the way, and the file at the end. */
export function placesOf(path: string): readonly string[] {
  const places: string[] = [];
  let rest = resolve(path).split(sep).slice(1);
  let at = parse(resolve(path)).root;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    const isLink = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink || places.length >= LINKS_MAX) {
      at = next;
      continue;
    }
    places.push(next);
    const target = resolve(at, readlinkSync(next));
    rest = [...target.split(sep).slice(1), ...rest];
    at = parse(target).root;
  }
  return [...places, at];
}
