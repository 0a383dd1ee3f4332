import { execFile, type ChildProcess } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { RUN, bin, ended, folder, report, sluice as spawned, start } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

const execute = promisify(execFile);

const SLOW = `clock: real
agents: { triage_bot: [ { delayMs: 60000, text: "{}" } ] }
`;

test('a reader that goes away ends the command quietly', async () => {
  const cwd = await newProject();
  const { run } = report(await sluice([...RUN, '--json'], { cwd }));
  const piped = `"${process.execPath}" "${bin}" trace ${run} --json | head -n 1; echo "status \${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await execute('bash', ['-c', piped], { cwd });
  expect(stdout).toMatch(/^\[\nstatus 0\n$/);
  expect(stderr).toBe('');
});

test('colour can be forced on and is off with NO_COLOR, and never reaches standard output', async () => {
  const cwd = folder({ 'bad.yaml': 'flow: { id: x, entry: nowhere, nodes: [{ id: a, type: terminal }] }\n' });
  const forced = await spawned(['check', 'bad.yaml'], { cwd, env: { FORCE_COLOR: '1' } });
  expect(forced.stderr).toContain('\u001B[');
  expect(forced.stdout).not.toContain('\u001B[');
  const plain = await spawned(['check', 'bad.yaml'], { cwd, env: { FORCE_COLOR: '1', NO_COLOR: '1' } });
  expect(plain.stderr).not.toContain('\u001B[');
});

test('what a model says cannot steer the terminal', async () => {
  const cwd = folder({
    'w.yaml': 'steps: [{ name: one, agent_name: a }]\n',
    's.yaml': 'agents: { a: [ "\\e]0;owned\\a\\e[2Jhello" ] }\n',
  });
  const ran = await sluice(['run', 'w.yaml', '--script', 's.yaml', '--input', 'x'], { cwd });
  expect(ran.stdout).not.toContain('\u001B');
  expect(ran.stdout).toContain('hello');
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s stops cleanly: the run is kept, and resume goes on with it',
  async (signal) => {
    const cwd = await newProject();
    writeFileSync(join(cwd, 'slow.yaml'), SLOW);
    const child = start(['run', 'support.flow.yaml', '--script', 'slow.yaml', '--input', '@input.json'], { cwd });
    const result = ended(child);
    await untilEntered(child);
    child.kill(signal);
    const { status, stderr } = await result;
    expect(status).toBe(1);
    const run = /error\[interrupted\]: stopped; run (\S+) can be resumed/.exec(stderr)?.[1] as string;
    expect(stderr).toContain(`sluice resume ${run} --script slow.yaml`);
    const resumed = await sluice(['resume', run, '--script', 'support.script.yaml', '--json'], { cwd });
    expect(resumed.status).toBe(3);
    expect(report(resumed)).toMatchObject({ run, state: 'suspended', path: ['triage', 'size', 'gate'] });
  },
);

test('a run whose process was killed is taken up without waiting for its lease', async () => {
  const cwd = await newProject();
  writeFileSync(join(cwd, 'slow.yaml'), SLOW);
  const child = start(['run', 'support.flow.yaml', '--script', 'slow.yaml', '--run', 'held'], { cwd });
  const killed = ended(child);
  await untilEntered(child);
  child.kill('SIGKILL');
  await killed;
  const resumed = await sluice(['resume', 'held', '--script', 'support.script.yaml'], { cwd });
  expect(resumed.status).toBe(3);
  expect(resumed.stderr).not.toContain('is owned by another process');
});

test('another process can cancel a run that this one follows', async () => {
  const cwd = await newProject();
  writeFileSync(join(cwd, 'slow.yaml'), SLOW);
  const child = start(['run', 'support.flow.yaml', '--script', 'slow.yaml', '--run', 'long-one'], { cwd });
  const followed = ended(child);
  await untilEntered(child);
  const cancelled = await sluice(['cancel', 'long-one', '--as', 'kim', '--json'], { cwd });
  expect(cancelled.status).toBe(0);
  expect(report(cancelled)).toMatchObject({ run: 'long-one', state: 'cancelled', code: 'USER_CANCEL' });
  const { status, stderr } = await followed;
  expect(status).toBe(1);
  expect(stderr).toContain('cancelled by kim');
});

test('a folder that cannot be written gives one clear error', async () => {
  const cwd = await newProject();
  chmodSync(cwd, 0o555);
  // Permissions do not bind root, so the command runs as somebody else then.
  const uid = process.getuid?.() === 0 ? { uid: 65534 } : {};
  const ran = await spawned(RUN, { cwd, ...uid });
  chmodSync(cwd, 0o755);
  expect(ran.status).toBe(1);
  expect(ran.stderr).toContain('error[journal-read-only]');
  expect(ran.stderr).not.toMatch(/^\s+at /m);
});

async function untilEntered(child: ChildProcess): Promise<void> {
  await new Promise<void>((ready) =>
    child.stderr?.on('data', (chunk: Buffer) => chunk.toString().includes('enter') && ready()),
  );
}
