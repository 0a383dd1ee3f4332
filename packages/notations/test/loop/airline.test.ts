/** Real runs of the airline domain under the bounded loop: approvals, budgets, and the journal decided again. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf, isThere, trajectories } from './airline.ts';
import type { ToolCall } from './airline.ts';
import { outcomeOf } from './airline-outcomes.ts';
import { AIRLINE_PAGE, airlinePage, isExact, reasonFor } from './airline-page.ts';
import type { Outcome } from './airline-page.ts';

const absent = 'the airline runs are not here: nothing to show on them';
const all = isThere() ? trajectories() : [];
if (all.length === 0) process.stdout.write(`${absent}\n`);

const outcomes: Outcome[] = [];
const nameOf = ({ trajectory }: Outcome): string => `${trajectory.task_id}/${trajectory.trial}`;

describe('the airline runs', () => {
  beforeAll(async () => {
    for (const trajectory of all) outcomes.push(await outcomeOf(trajectory));
  }, 300_000);

  test('every mutating call waits for its approval §pathologies/escalation-bypass', ({ skip }) => {
    skip(all.length === 0, absent);
    expect(outcomes.filter(({ full }) => full.unasked.length > 0).map(nameOf)).toEqual([]);
    expect(outcomes.reduce((sum, { full }) => sum + full.approved, 0)).toBeGreaterThan(100);
  });

  test('no call is made twice, and each journal is decided again alike', ({ skip }) => {
    skip(all.length === 0, absent);
    expect(outcomes.filter(({ full }) => new Set(full.keys).size < full.keys.length).map(nameOf)).toEqual([]);
    expect(outcomes.filter(({ full }) => full.difference !== null).map(nameOf)).toEqual([]);
  });

  test('a budget of tool calls stops every run before the first call that it does not cover', ({ skip }) => {
    skip(all.length === 0, absent);
    expect(outcomes.filter(({ calls }) => calls === false).map(nameOf)).toEqual([]);
    expect(outcomes.filter(({ calls, full }) => calls === null && full.dispatched.length > 0).map(nameOf)).toEqual([]);
  });

  test('a budget of steps stops every run before the first turn that it does not cover', ({ skip }) => {
    skip(all.length === 0, absent);
    expect(outcomes.filter(({ steps }) => steps !== true).map(nameOf)).toEqual([]);
  });

  test('a run that does not go as recorded was stopped by a rule of the loop, and makes no call that was not recorded', ({
    skip,
  }) => {
    skip(all.length === 0, absent);
    const off = outcomes.filter((outcome) => !isExact(outcome));
    process.stdout.write(
      `airline: ${outcomes.length - off.length} of ${outcomes.length} runs are exact\n${off.map((each) => `  ${nameOf(each)}: ${each.full.dispatched.length} of ${callsOf(each.trajectory).length} calls, ${String(each.full.report.code)}: ${String(reasonFor(each))}\n`).join('')}`,
    );
    expect(off.filter((outcome) => reasonFor(outcome) === null).map(nameOf)).toEqual([]);
    expect(
      outcomes.filter(({ trajectory, full }) => !isWithin(full.dispatched, callsOf(trajectory))).map(nameOf),
    ).toEqual([]);
    expect(outcomes.length - off.length).toBeGreaterThanOrEqual(outcomes.length * 0.95);
  });

  test('the page says the same; `node scripts/airline.ts` writes it', ({ skip }) => {
    skip(all.length === 0, absent);
    expect(readFileSync(new URL(`../../../../${AIRLINE_PAGE}`, import.meta.url), 'utf8')).toBe(airlinePage(outcomes));
  });
});

/** Whether these are some of those, in the same order. */
function isWithin(made: readonly ToolCall[], recorded: readonly ToolCall[]): boolean {
  let from = 0;
  return made.every((call) => {
    const at = recorded.findIndex((each, index) => index >= from && isDeepStrictEqual(each, call));
    from = at + 1;
    return at >= 0;
  });
}
