/** Runs one command in the sandbox from a process of its own: `run-shell.ts WORK_DIR COMMAND`. */
import { shellRunner } from '../../src/calls/sandbox.ts';

const [workDir = '.', command = 'true'] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await shellRunner()(command, { workDir })));
