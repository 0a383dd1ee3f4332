/** The clock of a working process jumps by a day, moved from outside of it: the run ends as it would have. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../support/programs.ts';

const DAY_S = 86_400;
const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

interface Line {
  readonly called?: number;
  readonly code?: string;
  readonly instants?: readonly number[];
  readonly notices?: readonly string[];
  readonly now?: number;
}

test.for([
  ['back', -DAY_S],
  ['forward', DAY_S],
] as const)('%s by a day', { timeout: 60_000 }, async ([direction, jumpS], { skip }) => {
  skip(!hasCompiler, 'there is no C compiler here');
  const dir = mkdtempSync(join(tmpdir(), 'sluice-clock-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const library = join(dir, 'clock.so');
  const source = join(import.meta.dirname, 'outside-clock.c');
  expect(spawnSync('cc', ['-shared', '-fPIC', '-o', library, source], { encoding: 'utf8' }).stderr).toBe('');
  const offset = join(dir, 'offset');
  writeFileSync(offset, '0');
  const child = spawn(process.execPath, [program('test/crash/clocked-worker.ts'), join(dir, 'db', 'sluice.db')], {
    env: { ...process.env, LD_PRELOAD: library, CLOCK_OFFSET_FILE: offset },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: Line[] = [];
  let rest = '';
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = `${rest}${chunk.toString()}`.split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as Line);
    // The first call is under way.
    if (lines.length === 1) writeFileSync(offset, String(jumpS));
  });
  const status = await new Promise((resolve) => child.once('close', resolve));
  const { code, instants = [], notices = [], now = 0 } = lines.at(-1) ?? {};
  expect([status, code]).toEqual([0, 'SUCCESS']);
  expect(Math.sign(now - Date.now())).toBe(Math.sign(jumpS));
  expect(lines.filter(({ called }) => called !== undefined)).toHaveLength(2);
  expect(instants).toEqual(instants.toSorted((a, b) => a - b));
  expect(notices).toContainEqual(expect.stringContaining(`the system clock jumped ${direction}`));
});
