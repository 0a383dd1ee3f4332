/** Every airline run three times: with plenty, with too few tool calls, and with too few steps. */
import { isDeepStrictEqual } from 'node:util';
import { draw } from '../../../kernel/src/core/random.ts';
import type { Trajectory } from './airline.ts';
import type { Outcome } from './airline-page.ts';
import { playAirline } from './airline-run.ts';
import type { Ran } from './airline-run.ts';

export async function outcomeOf(trajectory: Trajectory): Promise<Outcome> {
  const full = await playAirline(trajectory, {});
  const below = (need: number, what: string): number =>
    Math.floor(draw(trajectory.task_id * 1000 + trajectory.trial, what) * need);
  const { steps: stepsNeeded, toolCalls: callsNeeded } = full.report.usage;
  return {
    trajectory,
    full,
    calls: callsNeeded === 0 ? null : await stopsAtCall(trajectory, full, below(callsNeeded, 'calls')),
    steps: await stopsAtStep(trajectory, full, below(stepsNeeded, 'steps')),
  };
}

/** The first calls are the same, and the next one was not made. */
async function stopsAtCall(trajectory: Trajectory, full: Ran, limit: number): Promise<boolean> {
  const { report, dispatched, ...ran } = await playAirline(trajectory, { tool_calls: limit });
  return (
    isSound(ran) &&
    report.code === 'BUDGET_EXHAUSTED' &&
    report.usage.toolCalls === limit &&
    isDeepStrictEqual(dispatched, full.dispatched.slice(0, limit))
  );
}

/** So many turns, and exactly the calls that were made in them. */
async function stopsAtStep(trajectory: Trajectory, full: Ran, limit: number): Promise<boolean> {
  const { report, dispatched, ...ran } = await playAirline(trajectory, { steps: limit });
  const expected = full.dispatched.filter((_, index) => (full.turns[index] ?? 0) <= limit);
  return (
    isSound(ran) &&
    report.code === 'BUDGET_EXHAUSTED' &&
    report.usage.steps === limit &&
    report.usage.modelCalls === limit &&
    isDeepStrictEqual(dispatched, expected)
  );
}

function isSound({ unasked, keys, difference }: Pick<Ran, 'unasked' | 'keys' | 'difference'>): boolean {
  return unasked.length === 0 && new Set(keys).size === keys.length && difference === null;
}
