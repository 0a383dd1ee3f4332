/**
 * Tests of all promises of a store. Run them against a new store with any test runner:
 * `journalSuite({ test }, 'mine', openMine)`. Each test opens its own store and closes it.
 */
import type { Store, StoreClock } from '@sluice-internal/engine/ports';
import { awayCases } from './suite/away-cases.ts';
import { cellCases } from './suite/cell-cases.ts';
import { clockCases } from './suite/clock-cases.ts';
import { commitCases } from './suite/commit-cases.ts';
import { leaseCases } from './suite/lease-cases.ts';
import { loadCases } from './suite/load-cases.ts';
import { indexCases } from './suite/index-cases.ts';
import { mailCases } from './suite/mail-cases.ts';
import { processCases } from './suite/process-cases.ts';
import { suiteClock, type Case } from './suite/sample.ts';

export interface SuiteRunner {
  test(name: string, body: () => Promise<void>): unknown;
}

type Opened = Store | Promise<Store>;

/**
 * What a store can do besides. Cases that need it are left out without it.
 * @example
 * const options = (file: string): JournalSuiteOptions => ({ again: (_, { clock }) => openSqlite(file, { clock }) });
 */
export interface JournalSuiteOptions {
  /** Opens the data of a store a second time, as another process does. */
  readonly again?: (store: Store, given: { readonly clock?: StoreClock }) => Opened;
  /** Makes the store unreachable until the returned function is called. */
  readonly cut?: (store: Store) => () => void;
}

/**
 * Tests everything that a store promises, with any test runner. The store measures time by the clock that it is given, or by
 * its own if there is none.
 * @example
 * const check = (test: (name: string, body: () => Promise<void>) => void) => journalSuite({ test }, 'memory', openMemory);
 */
export function journalSuite(
  runner: SuiteRunner,
  name: string,
  openStore: (given: { readonly clock?: StoreClock }) => Opened,
  { again, cut }: JournalSuiteOptions = {},
): void {
  const everywhere = { ...commitCases, ...loadCases, ...leaseCases, ...indexCases, ...mailCases, ...cellCases };
  const cases = {
    ...everywhere,
    ...(again === undefined ? {} : processCases),
    ...(cut === undefined ? {} : awayCases),
  };
  const absent = (): never => {
    throw new Error('this store cannot do that');
  };
  const check = async (body: Case, hasOwnClock: boolean): Promise<void> => {
    const clock = suiteClock();
    const given = hasOwnClock ? {} : { clock };
    const store = await openStore(given);
    const others: Store[] = [];
    try {
      await body(store, {
        clock,
        again: async () => {
          const other = await (again ?? absent)(store, given);
          others.push(other);
          return other;
        },
        cut: () => (cut ?? absent)(store),
      });
    } finally {
      for (const each of [...others, store]) await each.close();
    }
  };
  for (const [promise, body] of Object.entries(cases)) runner.test(`${name}: ${promise}`, () => check(body, false));
  for (const [promise, body] of Object.entries(clockCases)) runner.test(`${name}: ${promise}`, () => check(body, true));
}
