/**
 * `npm run lock`: completes the lock files. npm leaves a binary for another platform out of the lock file when the mirror that it
 * talks to does not carry it, and then `npm ci` refuses the file as out of step. Such an entry says no more than what the package
 * that wants it says: the version and the platform. It also leaves the hash of such a binary out, and `npm ci` would then install
 * whatever it gets: the hashes come from the registry.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.ts';

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  /** The package under another name. */
  readonly name?: string;
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

const REGISTRY = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim().replace(/\/$/, '');

for (const path of [
  'package-lock.json',
  'bench/peers/package-lock.json',
  'mutation/package-lock.json',
  'reference/package-lock.json',
  'test/package/node22/package-lock.json',
  'test/server/clients/package-lock.json',
]) {
  const file = join(root, path);
  const added = complete(file);
  const { found, left } = await hashes(file);
  process.stdout.write(`${path}: ${added} entries and ${found} hashes added\n`);
  for (const each of left) process.stdout.write(`  no hash: the registry does not carry ${each}\n`);
}

async function hashes(file: string): Promise<{ readonly found: number; readonly left: readonly string[] }> {
  const left: string[] = [];
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock;
  const bare = Object.entries(lock.packages).filter(
    ([path, { integrity, link }]) => path.includes('node_modules/') && integrity === undefined && link !== true,
  );
  for (const [path, entry] of bare) {
    const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const { version = '', ...rest } = entry;
    const integrity = await integrityOf(name, version);
    if (integrity === undefined) left.push(`${name}@${version}`);
    else lock.packages[path] = { version, integrity, ...rest };
  }
  const found = bare.length - left.length;
  if (found > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  return { found, left };
}

async function integrityOf(name: string, version: string): Promise<string | undefined> {
  const answer = await fetch(`${REGISTRY}/${name.replace('/', '%2f')}`, {
    headers: { accept: 'application/vnd.npm.install-v1+json' },
  });
  const { versions = {} } = (await answer.json()) as {
    readonly versions?: { readonly [version: string]: { readonly dist?: { readonly integrity?: string } } };
  };
  return versions[version]?.dist?.integrity;
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
