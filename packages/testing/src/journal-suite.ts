/**
 * Tests of all promises of a store. Run them against a new store with any test runner:
 * `journalSuite({ test }, 'mine', openMine)`. Each test opens its own store and closes it.
 */
import type { Store } from '@sluice-internal/engine/ports';
import { commitCases } from './suite/commit-cases.ts';
import { leaseCases } from './suite/lease-cases.ts';
import { loadCases } from './suite/load-cases.ts';
import { indexCases } from './suite/index-cases.ts';
import { mailCases } from './suite/mail-cases.ts';

export interface SuiteRunner {
  test(name: string, body: () => Promise<void>): unknown;
}

/**
 * Tests everything that a store promises, with any test runner.
 * @example
 * const check = (test: (name: string, body: () => Promise<void>) => void) => journalSuite({ test }, 'memory', () => openMemory());
 */
export function journalSuite(runner: SuiteRunner, name: string, openStore: () => Store | Promise<Store>): void {
  const cases = { ...commitCases, ...loadCases, ...leaseCases, ...indexCases, ...mailCases };
  for (const [promise, check] of Object.entries(cases)) {
    runner.test(`${name}: ${promise}`, async () => {
      const store = await openStore();
      try {
        await check(store);
      } finally {
        await store.close();
      }
    });
  }
}
