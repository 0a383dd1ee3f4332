/** Folders that no agent may work in: those of the operating system, and those that contain one of them. */
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, parse, relative, resolve, sep } from 'node:path';

const UNIX = [
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/libx32', '/proc', '/run', '/sbin', '/sys', '/usr'],
  ...['/var/backups', '/var/cache', '/var/lib', '/var/log', '/var/mail', '/var/run', '/var/spool'],
];
const MAC = ['/Applications', '/Library', '/System', '/private/etc', '/private/var/db', '/private/var/log'];
const WINDOWS = ['Windows', 'Program Files', 'Program Files (x86)', 'ProgramData'];
/** Parts of them that are for the files of users. */
const FREE = ['/dev/shm', '/run/user', '/usr/local/src', '/usr/src'];

/** The folder of the system that a path is in or contains, or the home folder that it contains. Null without one. */
export function systemFolderAt(path: string): string | null {
  const place = real(path);
  const { root } = parse(place);
  if (place === root) return root;
  const system = process.platform === 'win32' ? WINDOWS.map((name) => join(root, name)) : [...UNIX, ...MAC];
  const isFree = FREE.some((folder) => isWithin(place, folder));
  const inside = isFree ? undefined : system.find((folder) => isWithin(place, folder) || isWithin(place, real(folder)));
  if (inside !== undefined) return inside;
  const held = [...system, homedir()].find((folder) => folder !== place && isWithin(real(folder), place));
  return held ?? null;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !parse(way).root);
}

/** Without symbolic links, also if the end of the path does not exist yet. */
function real(path: string): string {
  let there = resolve(path);
  const rest: string[] = [];
  for (; !existsSync(there) && dirname(there) !== there; there = dirname(there))
    rest.unshift(there.slice(dirname(there).length).replaceAll(sep, ''));
  return join(existsSync(there) ? realpathSync(there) : there, ...rest);
}
