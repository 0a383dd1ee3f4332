/** How tests run, here and in CI. Tests that start processes of their own need longer than the default. */
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CODE_CACHE } from './scripts/tool.ts';
import { SlowestFirst } from './test/setup/slowest-first.ts';

/** Mutation testing tries each change against a few tests. It runs them in threads, and replaces modules through Vite. */
const mutated = process.env['SLUICE_TESTS'];

/**
 * The entries of the packages as files of this folder. In a copy of the project, `node_modules` still leads to the packages of
 * the original, so a mutated copy would test the original.
 */
function entries(): { readonly [specifier: string]: string } {
  const folder = join(import.meta.dirname, 'packages');
  const files = readdirSync(folder).flatMap((name) => {
    const { exports = {} } = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')) as {
      readonly exports?: { readonly [entry: string]: string };
    };
    return Object.entries(exports).map(
      ([entry, file]) => [join('@sluice-internal', name, entry), join(folder, name, file)] as const,
    );
  });
  // The longer specifier first: `platform` is the beginning of `platform/code`.
  return Object.fromEntries(files.toSorted(([one], [other]) => other.length - one.length));
}

export default defineConfig({
  resolve: { alias: mutated === undefined ? {} : entries() },
  test: {
    include: (mutated ?? 'packages/*/test/**/*.test.ts test/**/*.test.ts').split(' '),
    globalSetup: ['test/setup/bundle.ts', 'test/setup/memory-folder.ts', 'test/setup/postgres.ts'],
    pool: 'forks',
    // A larger young generation: far fewer collections, a tenth less processor time in all.
    execArgv: mutated === undefined ? ['--max-semi-space-size=64'] : [],
    // Node runs the sources as they are: nothing is transformed, and imported names are as fast as in the product.
    experimental: mutated === undefined ? { viteModuleRunner: false, nodeLoader: false } : {},
    // Two more than there are processors: files that wait for a process, a disk or a timeout leave theirs to others.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: SlowestFirst },
    // Files share a process, so that each does not load the compiler again. Tests leave no state behind.
    isolate: false,
    env: { NODE_COMPILE_CACHE: CODE_CACHE },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A test waits for a state, however slow the machine is.
    expect: { poll: { timeout: 50_000, interval: 20 } },
    passWithNoTests: false,
    allowOnly: false,
  },
});
