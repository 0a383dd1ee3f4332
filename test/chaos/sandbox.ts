/** Tries to see, reach and use up what the shell sandbox keeps away, with a secret planted in every place. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { program } from '../support/programs.ts';
import type { Part, Round } from './part.ts';

const SECRET = 'chaos-secret-8b1f';

/** Commands that must not print the secret. `@` stands for the folder outside the sandbox that holds it. */
const LEAKS: readonly string[] = [
  'cat /proc/[0-9]*/environ | tr "\\0" "\\n"',
  'env; set; export -p',
  'cat /proc/[0-9]*/fd/* <&-',
  'cat @/secret; cat ../secret; cat ../../secret',
  'ln -s @/secret link; cat link; cp link copy; cat copy',
  'cat /proc/1/root/@/secret; cat /proc/self/root/@/secret; cat /proc/[0-9]*/cwd/../secret',
  `cat ${homedir()}/.* ${homedir()}/.config/*/*`,
  'find / -xdev -name secret -exec cat {} + 2>/dev/null',
  'mount --bind @ /mnt; cat /mnt/secret; chroot @ cat /secret',
  'unshare --mount --map-root-user cat @/secret; nsenter -t 1 -m cat @/secret',
  'cat /dev/mem /dev/kmsg /proc/kcore | head -c 100000 | strings',
  'dmesg; cat /var/log/*; cat /run/user/*/*',
  'for p in /proc/[0-9]*; do cat $p/cmdline | tr "\\0" " "; done',
];

/** Commands that must fail: they reach out, or change the machine. */
const REACHES: readonly string[] = [
  'exec 3<>/dev/tcp/127.0.0.1/22 || exec 3<>/dev/tcp/1.1.1.1/80',
  'getent hosts example.com',
  'echo x > @/written',
  'echo x > /etc/passwd',
  'mknod dev c 1 3',
  'echo 1 > /proc/sys/vm/drop_caches',
  'unshare --user true',
  'find / -xdev -type s 2>/dev/null | grep .',
];

export const sandbox: Part = {
  name: 'sandbox',
  promise: 'a command sees, reaches and changes nothing outside its work directory',
  round: async (seed, size) => probe(seed, size),
};

function probe(seed: number, size: 'short' | 'long'): Round {
  const outside = mkdtempSync(join(tmpdir(), 'sluice-probe-'));
  try {
    writeFileSync(join(outside, 'secret'), SECRET);
    const run = (command: string): { exitCode: number; text: string } => runInside(command.replaceAll('@', outside));
    const hello = run('echo hello');
    if (!hello.text.includes('hello'))
      return { figures: {}, violations: [], skipped: `no sandbox here: ${hello.text}` };
    const pick = (all: readonly string[]): readonly string[] =>
      size === 'long' ? all : all.filter((_, index) => (index + seed) % 4 === 0);
    const violations = [
      ...pick(LEAKS)
        .filter((command) => run(command).text.includes(SECRET))
        .map((command) => `the secret was seen by: ${command}`),
      ...pick(REACHES)
        .filter((command) => run(command).exitCode === 0)
        .map((command) => `this did not fail: ${command}`),
    ];
    return { figures: { probes: pick(LEAKS).length + pick(REACHES).length }, violations };
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
}

function runInside(command: string): { exitCode: number; text: string } {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-work-'));
  const done = spawnSync(process.execPath, [program('packages/tools/test/tools/run-shell.ts'), dir, command], {
    encoding: 'utf8',
    env: { ...process.env, CHAOS_SECRET: SECRET },
  });
  rmSync(dir, { recursive: true, force: true });
  const exitCode = /"exitCode":\s*(-?\d+)/.exec(done.stdout)?.[1];
  return { exitCode: Number(exitCode ?? 1), text: `${done.stdout}${done.stderr}` };
}
