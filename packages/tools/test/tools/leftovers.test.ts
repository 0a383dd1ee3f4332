/** Programs that a killed engine left behind, stopped so that they end neither by themselves nor by a plain signal. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../../../../test/support/programs.ts';
import { freshDir } from './call.ts';

const SHELL = program('packages/tools/test/tools/run-shell.ts');
const PROGRAM = program('packages/tools/test/tools/run-program.ts');

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Living processes that carry the mark of this engine. A process that has ended has no command line. */
function childrenOf(engine: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`).startsWith(`sluice-child:${engine}:`))
    .map(Number);
}

function stateOf(pid: number): string {
  return /\) (\w)/.exec(read(`/proc/${pid}/stat`))?.[1] ?? '';
}

/** Starts an engine whose program works, stops the program with all its processes, and kills the engine. */
async function strand(args: readonly string[]): Promise<number> {
  const engine: ChildProcess = spawn(process.execPath, args, { stdio: 'ignore' });
  const pid = engine.pid ?? 0;
  onTestFinished(() => {
    engine.kill('SIGKILL');
    for (const child of childrenOf(pid)) process.kill(child, 'SIGKILL');
  });
  await expect.poll(() => childrenOf(pid).length).toBeGreaterThan(0);
  for (const child of childrenOf(pid)) process.kill(child, 'SIGSTOP');
  const gone = new Promise((resolve) => engine.once('exit', resolve));
  engine.kill('SIGKILL');
  await gone;
  return pid;
}

test('a stopped program outlives its engine, and the next engine ends it', async () => {
  const engine = await strand([PROGRAM, '/bin/sleep', '600']);
  const [left = 0] = childrenOf(engine);
  await expect.poll(() => stateOf(left)).toBe('T');
  process.kill(left, 'SIGTERM');
  expect(childrenOf(engine)).toEqual([left]);
  spawnSync(process.execPath, [PROGRAM, '/bin/true']);
  await expect.poll(() => childrenOf(engine)).toEqual([]);
});

test('of a sandbox that was stopped as a whole nothing is left when the next engine has started', async () => {
  const engine = await strand([SHELL, freshDir(), 'sleep 600 & sleep 600']);
  spawnSync(process.execPath, [SHELL, freshDir(), 'true']);
  await expect.poll(() => childrenOf(engine)).toEqual([]);
});
