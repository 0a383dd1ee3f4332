/**
 * Measures how long the packed command takes to start: `sluice --version`, and `sluice check` of an example, in alternating
 * rounds. Prints the medians and their ratio. The target is 300 ms for `check` where `--version` takes 170 ms.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withDir } from './disk.ts';
import { median } from './stats.ts';

const ROUNDS = 9;
const TARGET = 300 / 170;
const root = join(import.meta.dirname, '..');

await withDir('start', async (dir) => {
  const command = install(dir);
  const example = join(dir, 'node_modules/sluice/examples/refund.flow.yaml');
  const version: number[] = [];
  const check: number[] = [];
  // The first round fills the compile cache.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const times = [elapsed([command, '--version'], dir), elapsed([command, 'check', example], dir)] as const;
    if (round === 0) continue;
    version.push(times[0]);
    check.push(times[1]);
  }
  const ratio = median(check.map((ms, round) => ms / (version[round] ?? ms)));
  const verdict = ratio <= TARGET ? 'ok' : 'over';
  process.stdout.write(`--version ${median(version).toFixed(0)} ms\ncheck     ${median(check).toFixed(0)} ms\n`);
  process.stdout.write(`ratio     ${ratio.toFixed(2)} ${verdict} (target at most ${TARGET.toFixed(2)})\n`);
});

/** Unpacks the package beside the dependencies of the checkout. */
function install(dir: string): string {
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, 'sluice'), { recursive: true });
  const packed = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], root);
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  run('tar', ['-xzf', join(dir, filename), '-C', join(modules, 'sluice'), '--strip-components=1'], dir);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return join(modules, 'sluice/bin/sluice.js');
}

function elapsed(args: readonly string[], cwd: string): number {
  const from = performance.now();
  run(process.execPath, args, cwd);
  return performance.now() - from;
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
