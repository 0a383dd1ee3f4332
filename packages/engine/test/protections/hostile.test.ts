/** All protections under a hostile world. `npm run hostile` makes 10,000 runs; this is the short version. */
import { expect, test } from 'vitest';
import { HOSTILE_NOTATIONS, hostileRun } from './hostile-world.ts';

test.each(HOSTILE_NOTATIONS)(
  '%s: every run ends, within every budget, with its decisions in the journal',
  async (name) => {
    const codes = new Set<string>();
    for (let seed = 1; seed <= 30; seed++) {
      const { report, problems } = await hostileRun(name, seed);
      expect({ seed, problems }).toEqual({ seed, problems: [] });
      codes.add(`${report.state} ${report.code ?? ''}`);
    }
    // The world is really hostile: runs end in different ways.
    expect(codes.size).toBeGreaterThan(1);
  },
  120_000,
);
