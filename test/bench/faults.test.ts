/** The provider of the fault benchmark gives every engine the same faults, and Sluice survives them, kills included. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Provider, ledger } from '../../bench/faults/provider.ts';
import { asMarkdown, measure } from '../../bench/faults/run.ts';

test('the same seed gives the same faults, also after a restart', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
  const faults = (file: string, seed: number): readonly string[] => {
    for (let index = 0; index < 60; index++) {
      // A new provider reads the ledger, as a new process does.
      const provider = new Provider(file, seed);
      try {
        provider.ask('run-1', 'worker', String(index % 7));
      } catch {
        // A timeout or a 429.
      }
    }
    return ledger(file).map(({ call, fault }) => `${call} ${fault}`);
  };
  const [one, two, other] = [faults(join(dir, 'a'), 3), faults(join(dir, 'b'), 3), faults(join(dir, 'c'), 4)];
  expect(two).toEqual(one);
  expect(other).not.toEqual(one);
  expect(new Set(one.map((each) => each.split(' ')[1])).size).toBeGreaterThan(2);
  rmSync(dir, { recursive: true });
});

test('tokens per success of Sluice, with a process that is killed in the middle', { timeout: 120_000 }, () => {
  const result = measure('sluice', 12, 7);
  expect(result).toMatchObject({ runs: 12, succeeded: 12 });
  expect(result.crashes).toBeGreaterThan(0);
  expect(result.tokensPerSuccess).toBeGreaterThanOrEqual(11_300);
  expect(asMarkdown([result], 7)).toContain('| sluice | 12 | 12 |');
});
