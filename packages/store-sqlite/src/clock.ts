/**
 * The clock of a store in a file: that of its machine. The time of day is read by SQLite, and not through `Date`, which a program can
 * replace. `elapsed` counts from the start of the machine, so it is the same for all processes.
 */
import type { StatementSync } from 'node:sqlite';
import type { StoreClock } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';

export function machineClock({ prepare }: Connection): StoreClock {
  let now: StatementSync | undefined;
  return {
    now: () => ((now ??= prepare(NOW)).get() as unknown as [number])[0],
    elapsed: () => Number(process.hrtime.bigint() / 1_000_000n),
  };
}

const NOW = "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)";
