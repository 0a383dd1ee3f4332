/** How tests run, here and in CI. Tests that start processes of their own need longer than the default. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    passWithNoTests: false,
    allowOnly: false,
  },
});
