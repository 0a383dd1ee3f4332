import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { bin, ended, folder } from './cli.ts';

/** Makes a Node of today look like one of long ago; the Node that the launcher starts does not inherit it. */
const OLD = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '16.20.0' } });
Object.defineProperty(process, 'version', { value: 'v16.20.0' });
`;

function onOldNode(cwd: string, launcher: string, args: readonly string[]) {
  const { SLUICE_LAUNCHER: _launcher, ...env } = process.env;
  return spawn(process.execPath, ['--require', join(cwd, 'old.cjs'), launcher, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('on an old Node without a pinned one, one line says what is needed', async () => {
  const cwd = folder({ 'old.cjs': OLD });
  const launcher = join(cwd, 'package/bin/sluice.js');
  mkdirSync(dirname(launcher), { recursive: true });
  copyFileSync(bin, launcher);
  copyFileSync(join(dirname(bin), 'package.json'), join(dirname(launcher), 'package.json'));
  expect(await ended(onOldNode(cwd, launcher, ['--version']))).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error[old-node]: sluice needs Node 22.13 or newer, and this is v16.20.0\n',
  });
});

test("on an old Node, the project's own pinned Node takes over, with its exit status", async () => {
  const cwd = folder({ 'old.cjs': OLD });
  const version = await ended(onOldNode(cwd, bin, ['--version']));
  expect(version).toMatchObject({ status: 0, stderr: '' });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await ended(onOldNode(cwd, bin, ['nonsense']))).status).toBe(2);
});

test('a signal to the launcher stops the command behind it', async () => {
  const cwd = folder({ 'old.cjs': OLD });
  writeFileSync(join(cwd, 'w.yaml'), 'steps: [{ name: one, agent_name: a }]\n');
  writeFileSync(join(cwd, 's.yaml'), 'clock: real\nagents: { a: [ { delayMs: 60000, text: x } ] }\n');
  const child = onOldNode(cwd, bin, ['run', 'w.yaml', '--script', 's.yaml', '--input', 'x']);
  const result = ended(child);
  await new Promise<void>((ready) =>
    child.stderr?.on('data', (chunk: Buffer) => chunk.toString().includes('enter') && ready()),
  );
  child.kill('SIGTERM');
  const { status, stderr } = await result;
  expect(status).toBe(1);
  expect(stderr).toContain('error[interrupted]');
});
