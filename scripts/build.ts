/** Builds `dist/`, which is what the package ships. A wrong import direction, or I/O in the core, stops it here. */
import { run } from './tool.ts';

const built = run('tsc', ['-b', 'src']);
if (!built.ok) {
  process.stderr.write(`${built.output}\n`);
  process.exitCode = 1;
}
