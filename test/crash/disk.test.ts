/** A disk that is full in the middle of the work, and one that cannot be written, with a real disk under them. */
import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bin, cleanEnvironment } from '../../packages/cli/test/cli/cli.ts';
import { program } from '../support/programs.ts';
import type { DiskStory } from './disk-scene.ts';

test(
  'a full disk stops the engine with a clear error and loses nothing; a read-only one is refused',
  { timeout: 90_000 },
  ({ skip }) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
    const disk = 'mount -t tmpfs -o size=24m none "$1"';
    const inside = (script: string): SpawnSyncReturns<string> =>
      spawnSync(
        'unshare',
        [
          '--map-root-user',
          '--mount',
          'sh',
          '-c',
          script,
          'sh',
          dir,
          process.execPath,
          program('test/crash/disk-scene.ts'),
        ],
        { encoding: 'utf8' },
      );
    if (inside(disk).status !== 0)
      skip('a small disk cannot be mounted here; test/journals has a limit on pages in its place');
    const { stdout, stderr } = inside(`${disk} && disk="$1" && shift && exec "$@" "$disk"`);
    rmSync(dir, { recursive: true, force: true });
    expect(stdout, stderr).not.toBe('');
    const { fault, endedBefore, states, asked, effects, violations, opened } = JSON.parse(stdout) as DiskStory;

    expect(fault).toBe('disk-full');
    expect(endedBefore).toBeLessThan(20);
    expect(states).toEqual(Array.from({ length: 20 }, () => 'completed'));
    expect(effects).toBe(20 * 30);
    expect(asked.every((times) => times <= 2)).toBe(true);
    expect(violations).toEqual([]);
    expect(opened).toBe('journal-read-only');
  },
);

const FILLS = `
tools: { fill: { effect: write, module: "./fill.mjs#fill" } }
flow: { id: fills, entry: fill, nodes: [{ id: fill, type: tool, tool: fill }] }
`;
const FILL = `
import { openSync, writeSync } from 'node:fs';
export function fill() {
  const file = openSync('disk/filler', 'w');
  try { for (;;) writeSync(file, Buffer.alloc(4096)); } catch (error) { return error.code.padEnd(200_000, '.'); }
}`;

test('a command on a disk that becomes full during a run names the run and how to continue it', ({ skip }) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  writeFileSync(join(dir, 'fills.flow.yaml'), FILLS);
  writeFileSync(join(dir, 'fill.mjs'), FILL);
  const inside = (script: string): SpawnSyncReturns<string> =>
    spawnSync('unshare', ['--map-root-user', '--mount', 'sh', '-c', script, 'sh', process.execPath, bin], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...cleanEnvironment(), PATH: process.env['PATH'] },
    });
  const disk = 'mkdir -p disk && mount -t tmpfs -o size=4m none disk';
  if (inside(disk).status !== 0) skip('a small disk cannot be mounted here');
  const { stderr } = inside(`${disk} && "$1" "$2" run fills.flow.yaml --run r1 --db disk/sluice.db`);
  rmSync(dir, { recursive: true, force: true });
  expect(stderr).toContain(
    'error[disk-full]: the disk of `disk/sluice.db` is full; nothing was written; run r1 can be',
  );
  expect(stderr).toMatch(/help: When the cause is fixed, continue with `.*resume r1 --db disk\/sluice.db`/);
});
