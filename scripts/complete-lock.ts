/**
 * `npm run lock`: completes package-lock.json. npm leaves a binary for another platform out of the lock file when the mirror
 * that it talks to does not carry it, and then `npm ci` refuses the file as out of step. Such an entry says no more than
 * what the package that wants it says: the version and the platform.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.ts';

interface Entry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: { readonly [name: string]: string };
}
interface Lock {
  packages: { [path: string]: Entry };
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'netbsd', 'openbsd', 'sunos', 'aix'];
const PROCESSORS = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'];

for (const path of [
  'package-lock.json',
  'bench/peers/package-lock.json',
  'mutation/package-lock.json',
  'reference/package-lock.json',
]) {
  const added = complete(join(root, path));
  process.stdout.write(`${path}: ${added} entries added\n`);
}

function complete(file: string): number {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock;
  let added = 0;
  for (const { dev, optionalDependencies = {} } of Object.values(lock.packages))
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const path = `node_modules/${name}`;
      if (lock.packages[path] !== undefined || !/^\d/.test(version)) continue;
      lock.packages[path] = { version, ...(dev === true ? { dev } : {}), optional: true, ...platformOf(name) };
      added += 1;
    }
  // In the order that npm writes them in.
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  if (added > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  return added;
}

function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const parts = name.split(/[/-]/);
  const os = SYSTEMS.find((each) => parts.includes(each));
  const cpu = PROCESSORS.find((each) => parts.includes(each)) ?? 'none';
  const libc = parts.includes('musl') ? ['musl'] : parts.includes('gnu') ? ['glibc'] : undefined;
  return { ...(os === undefined ? {} : { os: [os] }), cpu: [cpu], ...(libc === undefined ? {} : { libc }) };
}
