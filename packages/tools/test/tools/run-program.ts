/** Runs a program as tools do, but without a sandbox: `run-program.ts PROGRAM ARGUMENTS…`. */
import { DEFAULT_LIMITS } from '../../src/calls/limits.ts';
import { runProcess } from '../../src/calls/process.ts';

await runProcess({ argv: process.argv.slice(2), timeoutMs: 600_000, outputMax: 1000, limits: DEFAULT_LIMITS });
