/**
 * Builds `dist/`, which is what the package ships. A wrong import direction, or I/O in the core, stops it here. Links the
 * command among the installed ones as well, so that `npx sluice` in a checkout is this checkout.
 */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './tool.ts';

const built = run('tsc', ['-b', 'src']);
if (!built.ok) {
  process.stderr.write(`${built.output}\n`);
  process.exitCode = 1;
} else if (process.platform !== 'win32') link();

function link(): void {
  const bin = join(root, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, 'sluice'), { force: true });
  symlinkSync(join('..', '..', 'bin', 'sluice.js'), join(bin, 'sluice'));
}
