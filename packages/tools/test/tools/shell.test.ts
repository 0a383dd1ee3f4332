/** The shell tool: exit codes as evidence, a sandbox that leads nowhere, and an end to everything that was started. */
import { createServer } from 'node:net';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freshDir, tools } from './call.ts';
import type { Ask, Outcome } from './call.ts';
import { DEFAULT_LIMITS } from '../../src/calls/limits.ts';
import { runProcess } from '../../src/calls/process.ts';

type Ran = { exitCode: number; stdout: string; stderr: string; truncated: boolean };
async function run(ask: Ask, command: string): Promise<Ran> {
  const outcome = await ask('shell_run', { command });
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.value as Ran;
}

describe('what it gives', () => {
  test('the exit code and both streams', async () => {
    const { ask } = tools();
    expect(await run(ask, 'echo out; echo err >&2; exit 3')).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
    expect(await run(ask, 'true')).toMatchObject({ exitCode: 0 });
    expect((await run(ask, 'no-such-command')).exitCode).toBe(127);
    expect((await run(ask, 'kill -9 $$')).exitCode).toBe(137);
  });

  test('a failure inside a pipeline is a failure', async () => {
    const { ask } = tools();
    expect((await run(ask, 'false | cat')).exitCode).not.toBe(0);
  });

  test('files of the work directory stay, and commands find what tools wrote', async () => {
    const { dir, ask } = tools();
    await ask('write_file', { path: 'in.txt', content: 'hello' });
    expect(await run(ask, 'tr a-z A-Z < in.txt > out.txt && pwd')).toMatchObject({
      exitCode: 0,
      stdout: '/workspace\n',
    });
    expect(readFileSync(join(dir, 'out.txt'), 'utf8')).toBe('HELLO');
    expect(await ask('read_file', { path: '/workspace/out.txt' })).toMatchObject({ value: { content: 'HELLO' } });
  });

  test('the Node that runs us is there', async () => {
    const { ask } = tools();
    expect((await run(ask, 'node --version')).stdout.trim()).toBe(process.version);
  });

  test('50 MB of output keep their beginning and end, with a flag', async () => {
    const { ask } = tools();
    const { exitCode, stdout, truncated } = await run(
      ask,
      'echo first; head -c 50000000 /dev/zero | tr "\\0" x; echo; echo last',
    );
    expect({ exitCode, truncated }).toEqual({ exitCode: 0, truncated: true });
    expect(stdout.length).toBeLessThan(70_000);
    expect(stdout).toMatch(/^first\nxxx/);
    expect(stdout).toMatch(/xxx\nlast\n$/);
    expect(stdout).toMatch(/\[\.\.\. \d+ bytes left out \.\.\.\]/);
  });

  test('output that is no UTF-8 is text all the same', async () => {
    const { ask } = tools();
    expect((await run(ask, "printf 'a\\377b'")).stdout).toBe('a\ufffdb');
  });

  test('the call’s key is in the environment, and nothing of ours is', async () => {
    process.env['SLUICE_TEST_SECRET'] = 'do-not-leak';
    onTestFinished(() => void delete process.env['SLUICE_TEST_SECRET']);
    const { ask } = tools();
    const outcome = (await ask('shell_run', { command: 'env' }, { key: 'key-1' })) as Outcome & { value: Ran };
    expect(outcome.value.stdout).toContain('SLUICE_IDEMPOTENCY_KEY=key-1');
    expect(outcome.value.stdout).not.toContain('do-not-leak');
  });
});

describe('the sandbox', () => {
  test('has no network, not even this machine’s', async () => {
    const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const { ask } = tools();
    const { exitCode, stdout } = await run(ask, `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`);
    expect(exitCode).not.toBe(0);
    expect(stdout).not.toContain('reached');
    expect((await run(ask, 'cat /proc/net/dev')).stdout).not.toMatch(/eth|ens|enp|wlan/);
  });

  test('shows nothing of the machine but its programs', async () => {
    const outside = freshDir();
    writeFileSync(join(outside, 'secret'), 'secret');
    const { ask } = tools();
    for (const command of [
      `cat ${outside}/secret`,
      'ls /root',
      'ls /home',
      'cat /etc/shadow',
      `cat /proc/${process.pid}/environ`,
      'ls /var',
    ])
      expect((await run(ask, command)).exitCode, command).not.toBe(0);
    expect((await run(ask, 'ls /')).stdout).not.toMatch(/root|home|var|srv/);
  });

  test('a link to the outside leads nowhere', async () => {
    const outside = freshDir();
    writeFileSync(join(outside, 'secret'), 'secret');
    const { ask } = tools();
    expect((await run(ask, `ln -s ${outside}/secret l && cat l`)).exitCode).not.toBe(0);
    expect(await ask('read_file', { path: 'l' })).toMatchObject({ ok: false, type: 'PathError' });
  });

  test('cannot change the system, nor become more than it is', async () => {
    const { ask } = tools();
    for (const command of [
      'touch /usr/x',
      'echo x > /etc/passwd',
      'mount -t tmpfs none /workspace',
      'mknod d b 8 0',
      'chroot /',
    ])
      expect((await run(ask, command)).exitCode, command).not.toBe(0);
    expect((await run(ask, 'grep CapEff /proc/self/status')).stdout).toMatch(/CapEff:\t0+\n/);
  });
});

describe('an end', () => {
  test('time kills the command and everything that it has started', async () => {
    const { dir, ask } = tools({ shell: { timeoutMs: 4_000 } });
    const mark = `sluice-left-${process.pid}-${Date.now()}`;
    const outcome = await ask('shell_run', {
      command: `echo begun; (exec -a ${mark} sleep 60) & setsid bash -c 'exec -a ${mark} sleep 61' & nohup bash -c 'sleep 30; touch survived' & wait`,
    });
    expect(outcome).toMatchObject({
      ok: false,
      class: 'timeout',
      type: 'TimeoutError',
      message: expect.stringContaining('begun'),
    });
    expect(processes()).not.toContain(mark);
    expect(existsSync(join(dir, 'survived'))).toBe(false);
  });

  test('an abort stops it', async () => {
    const { ask } = tools();
    const controller = new AbortController();
    const mark = `sluice-stopped-${process.pid}-${Date.now()}`;
    const outcome = ask('shell_run', { command: `exec -a ${mark} sleep 60` }, { signal: controller.signal });
    await waitFor(() => processes().includes(mark));
    controller.abort();
    expect(await outcome).toMatchObject({ ok: false, type: 'AbortError' });
    expect(processes()).not.toContain(mark);
    expect(await ask('shell_run', { command: 'true' }, { signal: controller.signal })).toMatchObject({
      ok: false,
      type: 'AbortError',
    });
  });

  test('an abort while the sandbox is being set up stops it', async () => {
    const argv = [
      'bwrap',
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
      '--ro-bind',
      '/',
      '/',
      'sleep',
      '600',
    ];
    for (let round = 0; round < 120; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const outcome = runProcess({ argv, timeoutMs: 900_000, outputMax: 1000, limits: DEFAULT_LIMITS, signal });
      // Setting up takes a few milliseconds, and the moment that matters is shorter than the resolution of a timer.
      const until = performance.now() + (round % 60) * 0.15;
      while (performance.now() < until);
      controller.abort();
      await expect(outcome).rejects.toMatchObject({ message: 'the command was stopped' });
    }
  });

  test('what a command leaves behind in the background ends with it', { timeout: 60_000 }, async () => {
    const { ask } = tools();
    const mark = `sluice-daemon-${process.pid}-${Date.now()}`;
    expect(await run(ask, `setsid bash -c 'exec -a ${mark} sleep 600' > /dev/null 2>&1 & echo started`)).toMatchObject({
      exitCode: 0,
      stdout: 'started\n',
    });
    // The kernel ends it with the sandbox, which can take a moment after the result.
    await expect.poll(processes, { timeout: 45_000 }).not.toContain(mark);
  });

  test('without bubblewrap the failure says what to install', async () => {
    const { ask } = tools({ shell: { bwrap: 'no-bwrap-here' } });
    expect(await ask('shell_run', { command: 'true' })).toMatchObject({
      ok: false,
      class: 'fatal',
      type: 'SandboxError',
      message: expect.stringContaining('apt-get install bubblewrap'),
    });
  });

  test('a sandbox that cannot be made is no failing command', async () => {
    const { ask } = tools({ shell: { readable: ['/no/such/folder'] } });
    expect(await ask('shell_run', { command: 'true' })).toMatchObject({
      ok: false,
      class: 'fatal',
      type: 'SandboxError',
      message: expect.stringContaining('/no/such/folder'),
    });
  });
});

/** The command lines of everything that runs on this machine, without the sandboxes' own. */
function processes(): string {
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    });
  return lines.filter((line) => line !== '' && !line.startsWith('bwrap')).join('\n');
}

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}
