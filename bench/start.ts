/**
 * Measures how long the packed command takes to start, in alternating rounds: an empty program, `sluice --version`, and
 * `sluice check` of an example. Prints processor times, which a busy machine changes less than the clock, and their ratios.
 *
 * The goal is a `check` in 300 ms on a machine on which `sluice --version` took 170 ms when the goal was written. That
 * `--version`, of commit 7d6d2c36 in its checkout, takes 5.4 times as long as an empty program.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withDir } from './disk.ts';
import { median } from './stats.ts';

const ROUNDS = 15;
/** Later starts use the code that the first ones kept. */
const WARMING_ROUNDS = 4;
const GOAL = (300 / 170) * 5.4;
const root = join(import.meta.dirname, '..');
/** Prints the processor time of its process, start included, as the last line of standard error. */
const HOOK = `process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').writeSync(2, '\\n' + (user + system) + '\\n');
});`;

await withDir('start', async (dir) => {
  const command = install(dir);
  const hook = join(dir, 'usage.cjs');
  writeFileSync(hook, HOOK);
  const example = join(dir, 'node_modules/sluice/examples/refund.flow.yaml');
  const programs = {
    'node -e 0': ['-e', '0'],
    '--version': [command, '--version'],
    check: [command, 'check', example],
  };
  const times = Object.entries(programs).map(([name, args]) => ({ name, args, ms: [] as number[] }));
  for (let round = -WARMING_ROUNDS; round < ROUNDS; round += 1)
    for (const { args, ms } of times) {
      const used = processorMs(['--require', hook, ...args], dir);
      if (round >= 0) ms.push(used);
    }
  const [bare = []] = times.map(({ ms }) => ms);
  for (const { name, ms } of times) {
    const ratio = median(ms.map((each, round) => each / (bare[round] ?? each)));
    const verdict = name === 'check' ? ` ${ratio <= GOAL ? 'ok' : 'over'} (at most ${GOAL.toFixed(1)})` : '';
    process.stdout.write(`${name.padEnd(10)} ${median(ms).toFixed(0).padStart(4)} ms  ${ratio.toFixed(1)}${verdict}\n`);
  }
});

/** Unpacks the package beside the dependencies of the checkout. */
function install(dir: string): string {
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, 'sluice'), { recursive: true });
  const packed = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], root).stdout;
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  run('tar', ['-xzf', join(dir, filename), '-C', join(modules, 'sluice'), '--strip-components=1'], dir);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return join(modules, 'sluice/bin/sluice.js');
}

function processorMs(args: readonly string[], cwd: string): number {
  return Number(run(process.execPath, args, cwd).stderr.trim().split('\n').at(-1)) / 1_000;
}

function run(command: string, args: readonly string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return { stdout, stderr };
}
