/**
 * Installs what the tests need beyond npm. A package that is missing and cannot be installed is an error with a name, so
 * that no test is left out without anybody noticing.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, start } from './tool.ts';
import type { Ran } from './tool.ts';

/** A command that a test calls, and the Debian package that brings it. */
interface Need {
  readonly command: string;
  readonly debian: readonly string[];
}
const NEEDS: readonly Need[] = [
  { command: 'unshare', debian: ['util-linux'] },
  { command: 'script', debian: ['bsdutils'] },
  { command: 'bwrap', debian: ['bubblewrap'] },
  { command: 'chromium', debian: ['chromium'] },
  { command: 'cc', debian: ['gcc', 'libc6-dev'] },
  { command: 'curl', debian: ['curl'] },
];

/** All wait for the network, so they run at once. */
export async function installTestDeps(): Promise<Ran> {
  const done = await Promise.all([
    // The package is also tested on Node 22.
    installFolder('test/package/node22', 'node/bin/node'),
    // Clients of the server that others make, and the runtimes beside Node.
    installFolder('test/server/clients', 'bun/package.json'),
    installPrograms(),
  ]);
  return done.find(({ ok }) => !ok) ?? { ok: true, output: '' };
}

/** A folder with packages of its own, unless it has this file of them. */
async function installFolder(folder: string, file: string): Promise<Ran> {
  const dir = join(root, folder);
  if (existsSync(join(dir, 'node_modules', file))) return { ok: true, output: '' };
  return start('npm', ['ci', '--prefix', dir, '--no-audit', '--no-fund']);
}

async function installPrograms(): Promise<Ran> {
  const missing = NEEDS.filter(({ command }) => !run('sh', ['-c', `command -v ${command}`]).ok);
  if (missing.length === 0) return { ok: true, output: '' };
  const packages = missing.flatMap(({ debian }) => debian);
  const apt = isRoot() ? ['apt-get'] : ['sudo', '-n', 'apt-get'];
  const [command = '', ...first] = apt;
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
  ]) {
    const done = await start(command, [...first, ...args]);
    if (!done.ok)
      return {
        ok: false,
        output: `the tests need ${packages.join(', ')}, which could not be installed:\n${done.output}`,
      };
  }
  return { ok: true, output: '' };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
