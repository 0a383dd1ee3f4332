/** The sandbox under attack: nothing of the engine is visible, limits hold, and nothing is left behind (issue 18). */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findInSandbox } from '../../src/calls/sandbox.ts';
import { shellRunner } from '@sluice-internal/tools/calls';
import { present } from '@sluice-internal/kernel/expr';
import { seccompFilter } from '../../src/calls/seccomp.ts';
import { program } from '../../../../test/support/programs.ts';
import { freshDir, tools } from './call.ts';
import type { Ask, Outcome } from './call.ts';

type Ran = { exitCode: number; stdout: string; stderr: string };
const MIB = 1024 * 1024;

async function run(ask: Ask, command: string): Promise<Ran> {
  const outcome = await ask('shell_run', { command });
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.value as Ran;
}

describe('what is visible inside', () => {
  test('no process has the environment of the engine', async () => {
    process.env['SLUICE_TEST_SECRET'] = 'do-not-leak';
    onTestFinished(() => void delete process.env['SLUICE_TEST_SECRET']);
    const { ask } = tools();
    const { stdout } = await run(ask, 'cat /proc/[0-9]*/environ | tr "\\0" "\\n"; echo end');
    expect(stdout).toContain('end');
    expect(stdout).not.toContain('do-not-leak');
    expect((await run(ask, 'wc -c < /proc/1/environ')).stdout.trim()).toBe('0');
  });

  test('no descriptor of the engine is open, of any number', () => {
    const dir = freshDir();
    const secret = join(dir, 'secret');
    writeFileSync(secret, 'do-not-leak');
    const fd = openSync(secret, 'r');
    const stdio = Array.from({ length: 41 }, (_, index) =>
      index === 0 || (index > 2 && index !== 20 && index !== 40) ? 'ignore' : index < 3 ? 'pipe' : fd,
    );
    const command = 'cat /proc/[0-9]*/fd/* <&-; ls -l /proc/self/fd /proc/1/fd';
    const done = spawnSync(process.execPath, [program('packages/tools/test/tools/run-shell.ts'), dir, command], {
      stdio,
      encoding: 'utf8',
    });
    closeSync(fd);
    const { stdout } = JSON.parse(done.stdout) as Ran;
    expect(stdout).toContain('/proc/self/fd');
    expect(done.stdout).not.toContain('do-not-leak');
    expect(stdout).not.toMatch(/ (20|40) -> /);
  });

  test('the settings of the kernel cannot be changed, and the machine is not described', async () => {
    const { ask } = tools();
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    for (const command of [
      'echo "|/bin/false" > /proc/sys/kernel/core_pattern',
      'echo 1 > /proc/sys/vm/drop_caches',
      'echo h > /proc/sysrq-trigger',
      'ls /sys/kernel',
      'ls /run/dbus /run/user /var/run',
    ])
      expect((await run(ask, command)).exitCode, command).not.toBe(0);
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
    expect((await run(ask, 'cat /proc/keys /proc/key-users /proc/cmdline 2>/dev/null')).stdout).toBe('');
  });

  test('only the work directory, /tmp and /dev/shm can be written', async () => {
    const { ask } = tools();
    const { stdout } = await run(
      ask,
      'for d in $(cut -d" " -f2 /proc/mounts | sort -u); do if [ -d $d ]; then touch $d/probe 2>/dev/null && echo $d; fi; done',
    );
    expect(stdout.trim().split('\n')).toEqual(['/dev/shm', '/tmp', '/workspace']);
  });

  test('sockets and keyrings of the machine are out of reach, and no new user namespace can be made', async () => {
    const { ask } = tools();
    expect((await run(ask, 'find / -xdev -type s 2>/dev/null; cat /proc/net/unix | wc -l')).stdout.trim()).toBe('1');
    expect((await run(ask, 'unshare --user true')).exitCode).not.toBe(0);
    const keyctl = process.arch === 'arm64' ? 219 : 250;
    const { stdout } = await run(ask, `perl -e 'print syscall(${keyctl}, 0, -3, 0), " ", $!+0'`);
    expect(stdout).toBe('-1 1');
    expect(seccompFilter('mips')).toBeNull();
  });

  test('the command line of the first process has no folder of the machine and no variable', async () => {
    const { ask, dir } = tools({ shell: { env: { PLANTED: 'do-not-leak' } } });
    const { stdout } = await run(ask, 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | sort -u; echo end');
    expect(stdout).toContain('--args');
    expect(stdout).not.toContain(dir);
    expect(stdout).not.toContain('do-not-leak');
    expect((await run(ask, 'echo $PLANTED')).stdout).toBe('do-not-leak\n');
  });

  test('no socket to the hypervisor or of another rare family can be opened, and ordinary ones can', async () => {
    const { ask } = tools();
    const open = (family: number): string =>
      `perl -e 'socket(my $s, ${family}, 1, 0) ? print "open " : print $!+0, " "'`;
    // In order: AF_VSOCK, AF_ALG, AF_TIPC, AF_BLUETOOTH, AF_PACKET, AF_XDP, AF_QIPCRTR.
    const { stdout } = await run(ask, [40, 38, 30, 31, 17, 44, 42].map(open).join('; '));
    expect(stdout.trim().split(' ')).toEqual(Array(7).fill('97'));
    expect((await run(ask, [1, 2].map(open).join('; '))).stdout.trim()).toBe('open open');
  });

  test('the filter refuses new user namespaces by itself', async () => {
    const { ask } = tools();
    const [unshare, clone3] = process.arch === 'arm64' ? [97, 435] : [272, 435];
    const { stdout } = await run(
      ask,
      `perl -e 'print syscall(${unshare}, 0x10000000), " ", $!+0, " ", syscall(${clone3}, 0, 0), " ", $!+0'`,
    );
    expect(stdout).toBe('-1 1 -1 38');
  });

  test('no file can be made that runs as its owner', async () => {
    const { ask, dir } = tools();
    await run(
      ask,
      'cp /bin/true a; cp /bin/true b; chmod u+s a; chmod 2755 b; perl -e \'use Fcntl; sysopen(F, "c", O_CREAT|O_WRONLY, 06755)\'',
    );
    await run(ask, 'chmod 755 a; mkdir -m 700 d; touch d/e');
    for (const name of ['a', 'b']) expect(statSync(join(dir, name)).mode & 0o7777, name).toBe(0o755);
    expect(existsSync(join(dir, 'c'))).toBe(false);
    expect(existsSync(join(dir, 'd/e'))).toBe(true);
  });

  test('certificates of the machine are visible, and private keys beside them are not', async () => {
    const { ask } = tools();
    const { stdout } = await run(
      ask,
      'cd /etc; find ssl pki -mindepth 1 -maxdepth 2 2>/dev/null | cut -d/ -f1-3 | sort -u; echo end',
    );
    expect(stdout.replaceAll(/^ssl\/(certs.*|cert\.pem|openssl\.cnf)\n|^pki\/(ca-trust|tls).*\n/gm, '')).toBe('end\n');
    expect((await run(ask, 'ls /etc/ssl/private /etc/pki/tls/private 2>/dev/null')).stdout).toBe('');
  });

  test('files of the machine cannot be linked into the work directory', async () => {
    const { ask } = tools();
    for (const file of ['/etc/passwd', '/bin/sh', '/proc/self/exe'])
      expect((await run(ask, `ln -L ${file} linked`)).exitCode, file).not.toBe(0);
  });
});

describe('limits', () => {
  const limits = (given: object): { shell: object } => ({ shell: { limits: given } });

  test('on by default: 500 processes, 700 MB of memory and a 300 MB file are refused', async () => {
    const { ask, dir } = tools();
    const many = await ask('shell_run', { command: 'for i in $(seq 500); do sleep 60 & done; echo all; wait' });
    // Root is exempt from the limit of the operating system, so the watch ends the command.
    expect(many.ok ? (many.value as Ran).stderr : many.message).toMatch(/256 processes|fork/);
    expect(
      await ask('shell_run', {
        command: `node -e 'const a = Buffer.alloc(${700 * MIB}, 1); setTimeout(() => a, 20000)'`,
      }),
    ).toMatchObject({ ok: false, class: 'semantic', type: 'LimitError', message: expect.stringContaining('512 MiB') });
    const { exitCode } = await run(ask, 'head -c 300000000 /dev/zero > big');
    expect(exitCode).not.toBe(0);
    expect(statSync(join(dir, 'big')).size).toBeLessThanOrEqual(256 * MIB);
  });

  test('shared memory counts once, and memory that belongs to no process cannot be made', async ({ skip }) => {
    if ((await findInSandbox('python3')) === null) skip('there is no python3 for commands here');
    const { ask } = tools(limits({ memoryMax: 200 * MIB }));
    const python = (lines: readonly string[]): Promise<Outcome> =>
      ask('shell_run', { command: `python3 - <<'END'\n${lines.join('\n')}\nEND` });
    const share = (mib: number): string[] => [
      'import mmap, os, time',
      `shared = mmap.mmap(-1, ${mib * MIB})`,
      `for at in range(0, ${mib * MIB}, 4096): shared[at] = 1`,
    ];
    const over = await python([...share(300), 'time.sleep(60)']);
    expect(over).toMatchObject({ ok: false, type: 'LimitError', message: expect.stringContaining('200 MiB') });
    // Five processes hold the same 100 MiB.
    const forked = [
      'for _ in range(4):',
      '  if os.fork() == 0:',
      '    sum(shared[at] for at in range(0, len(shared), 4096))',
      '    time.sleep(2)',
      '    os._exit(0)',
      'for _ in range(4): os.wait()',
      'print("fits")',
    ];
    expect(await python([...share(100), ...forked])).toMatchObject({ ok: true, value: { stdout: 'fits\n' } });
    const hidden = await python([
      'import ctypes, os',
      'try: print("memfd", os.memfd_create("x"))',
      'except OSError as error: print("memfd", error.errno)',
      'libc = ctypes.CDLL(None, use_errno=True)',
      'libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]',
      'print([libc.shmget(0, size, 0o600) >= 0 for size in (4096, 65537, 1 << 32)])',
    ]);
    expect(hidden).toMatchObject({ ok: true, value: { stdout: 'memfd 38\n[True, False, False]\n' } });
  });

  test('of a single process are kept by the operating system', async () => {
    const { ask } = tools(limits({ cpuSeconds: 1, memoryMax: 64 * MIB }));
    expect((await run(ask, 'while :; do :; done')).exitCode).toBe(128 + 9);
    const data = Number((await run(ask, 'ulimit -d')).stdout);
    expect(data).toBeLessThan(1024 * 1024);
  });

  test('of CPU time leave room for a longer timeout of the tool, unless one is set', async () => {
    const cpu = async (timeoutMs: number, cpuSeconds?: number): Promise<number> => {
      const request = { workDir: freshDir(), timeoutMs, signal: new AbortController().signal };
      return Number((await shellRunner(present({ limits: present({ cpuSeconds }) }))('ulimit -t', request)).stdout);
    };
    expect(await cpu(1_000)).toBe(300);
    expect(await cpu(3_600_000)).toBe(3600 * availableParallelism());
    expect(await cpu(3_600_000, 7)).toBe(7);
  });

  test('of disk space hold for many files, and for /tmp', async () => {
    const { ask } = tools(limits({ diskMax: 32 * MIB }));
    expect(
      await ask('shell_run', { command: 'for i in $(seq 1000); do head -c 10000000 /dev/zero > f$i; done; sleep 5' }),
    ).toMatchObject({
      ok: false,
      type: 'LimitError',
      message: expect.stringContaining('32 MiB to the work directory'),
    });
    expect((await run(ask, 'head -c 50000000 /dev/zero > /tmp/f')).exitCode).not.toBe(0);
    expect((await run(ask, 'head -c 50000000 /dev/zero > /dev/shm/f')).exitCode).not.toBe(0);
  });

  test('can be set higher', async () => {
    const { ask } = tools(limits({ fileMax: Infinity, memoryMax: 2048 * MIB, processesMax: 2000 }));
    expect((await run(ask, 'head -c 300000000 /dev/zero > big && rm big')).exitCode).toBe(0);
    expect((await run(ask, 'for i in $(seq 300); do sleep 1 & done; wait')).exitCode).toBe(0);
  });
});

describe('after kill -9', () => {
  test('the next process ends a sandbox helper that is stuck', async () => {
    const dead = spawnSync('true').pid;
    const child = spawn('sleep', ['600'], { argv0: `sluice-child:${dead}:1`, detached: true, stdio: 'ignore' });
    const owned = spawn('sleep', ['600'], { argv0: `sluice-child:${process.pid}:${startTime()}`, stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    onTestFinished(() => void owned.kill('SIGKILL'));
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    spawnSync(process.execPath, [program('packages/tools/test/tools/run-shell.ts'), freshDir(), 'true']);
    expect(await ended).toBe('SIGKILL');
    expect(existsSync(`/proc/${owned.pid}`)).toBe(true);
    expect(owned.exitCode).toBeNull();
  });
});

describe('a program with an argument list', () => {
  test('gets its arguments as they are', async () => {
    const { ask } = tools();
    const outcome = await ask(
      'count',
      { text: '$(touch injected); "quoted"' },
      { tool: { implementation: { shell: { argv: ['printf', '%s|', '{{text}}', 'plain'] } } } },
    );
    expect(outcome).toEqual<Outcome>({ ok: true, value: '$(touch injected); "quoted"|plain|' });
  });
});

function startTime(): string {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
