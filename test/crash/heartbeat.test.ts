/** A long tool whose process is killed, and that was down for longer than all times of the call: the run ends as without the kill. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../support/programs.ts';

test('kill -9 in the middle of a beating call', { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-beat-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const first = await work(dir, 'first');
  expect(first).toEqual([{ key: expect.any(String) }]);
  await sleep(4_500);
  expect(await work(dir, 'second')).toEqual([...first, { code: 'SUCCESS' }]);
});

/** The lines that a worker says. The first one is killed as soon as it has made its call. */
async function work(dir: string, turn: 'first' | 'second'): Promise<readonly object[]> {
  const child = spawn(process.execPath, [program('test/crash/beating-worker.ts'), join(dir, 'sluice.db'), turn], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (turn === 'first' && said.endsWith('\n')) child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.once('close', resolve));
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
}
