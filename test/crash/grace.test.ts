/** A signal ends the command within its grace period, also when a module keeps the process alive or the clock goes back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ended, folder, start } from '../../packages/cli/test/cli/cli.ts';

const MODULE = `
import { writeFileSync } from 'node:fs';
export const hangs = () => {
  setInterval(() => undefined, 1000);
  writeFileSync('called', '');
  const now = Date.now;
  Date.now = () => now() - 86_400_000;
  return new Promise(() => undefined);
};
`;

test('SIGTERM and SIGINT', async () => {
  // The grace period is real time, so both commands wait at the same time.
  await Promise.all([signalled('SIGTERM'), signalled('SIGINT')]);
});

async function signalled(signal: 'SIGTERM' | 'SIGINT'): Promise<void> {
  const cwd = folder({
    'own.mjs': MODULE,
    's.yaml': 'clock: real\n',
    'a.yaml': `tools: { own.tool: { effect: read, module: "./own.mjs#hangs" } }
flow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: own.tool }] }
`,
  });
  const child = start(['run', 'a.yaml', '--script', 's.yaml', '--run', 'r_1'], { cwd });
  const exited = ended(child);
  while (!existsSync(join(cwd, 'called'))) await sleep(50);
  const before = performance.now();
  child.kill(signal);
  const { status } = await exited;
  expect(status).toBeGreaterThan(0);
  expect(performance.now() - before).toBeLessThan(40_000);
}
