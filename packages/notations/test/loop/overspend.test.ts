/** No overspend: under random budgets, branches, retries and crashes, no run uses more than its limits. */
import { expect, test } from 'vitest';
import { simulate } from '../../../testing/src/simulate.ts';
import { overspent, trialOf } from './overspend.ts';

/** `OVERSPEND_RUNS=10000 OVERSPEND_SEED=1` for the long form. */
const RUNS = Number(process.env['OVERSPEND_RUNS'] ?? 40);
const FIRST = Number(process.env['OVERSPEND_SEED'] ?? 1);

test(`L4: measured use never exceeds a limit §pathologies/budget-blowout §modes/budget-stress, seeds ${FIRST} to ${FIRST + RUNS - 1}`, async () => {
  const codes = new Map<string, number>();
  const seen = { crashes: 0, raised: 0, retries: 0, forks: 0 };
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const { flow, world } = trialOf(seed);
    const { events, outcome, violations, faults } = await simulate({
      flow,
      world,
      seed,
      input: 'go',
      faults: 'any',
      crashesMax: 3,
    });
    expect({ seed, violations, overspent: overspent(flow, events) }).toEqual({ seed, violations: [], overspent: [] });
    codes.set(outcome?.code ?? 'none', (codes.get(outcome?.code ?? 'none') ?? 0) + 1);
    seen.crashes += faults.crashes;
    for (const event of events) {
      if (event.type === 'meter.raised') seen.raised += 1;
      if (event.type === 'effect.judged' && event.verdict === 'retry') seen.retries += 1;
      if (event.type === 'thread.forked') seen.forks += 1;
    }
  }
  process.stdout.write(
    `overspend: ${RUNS} runs, none over; ${JSON.stringify({ ...seen, codes: Object.fromEntries(codes) })}\n`,
  );
  expect(codes.get('BUDGET_EXHAUSTED')).toBeGreaterThan(0);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
}, 3_600_000);
