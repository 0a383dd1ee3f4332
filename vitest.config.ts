/** How tests run, here and in CI. Tests that start processes of their own need longer than the default. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/slowest-first.ts';

export default defineConfig({
  test: {
    // Mutation testing tries each change against a few of them only.
    include: (process.env['SLUICE_TESTS'] ?? 'test/**/*.test.ts').split(' '),
    globalSetup: 'test/bundle.ts',
    pool: 'forks',
    // By default vitest leaves one processor free: on two, the files would run one after another.
    maxWorkers: Math.max(2, availableParallelism()),
    sequence: { sequencer: SlowestFirst },
    // Files share a process, so that each does not load the compiler again. Tests leave no state behind.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    passWithNoTests: false,
    allowOnly: false,
  },
});
