/** The page about the airline runs: how many go exactly as they were recorded, how many stop exactly, and why the rest do not. */
import { isDeepStrictEqual } from 'node:util';
import { callsOf, failuresInARow } from './airline.ts';
import type { Trajectory } from './airline.ts';
import type { Ran } from './airline-run.ts';

export const AIRLINE_PAGE = 'docs/airline-runs.md';

export interface Outcome {
  readonly trajectory: Trajectory;
  readonly full: Ran;
  /** With a budget below what the run needs: whether it stopped at that very call; null where it needs none. */
  readonly calls: boolean | null;
  readonly steps: boolean | null;
}

export function isExact({ trajectory, full }: Pick<Outcome, 'trajectory' | 'full'>): boolean {
  return full.report.code === 'SUCCESS' && isDeepStrictEqual(full.dispatched, callsOf(trajectory));
}

/** The rule of the loop that changed the course of a run; null where none explains it. */
export function reasonFor({ trajectory, full }: Pick<Outcome, 'trajectory' | 'full'>): string | null {
  if (full.report.code === 'REPEATED_FAILURE' && failuresInARow(trajectory) > 2)
    return 'the third failure in a row is not given back to the agent any more';
  if (trajectory.exact_loop_5_3_at !== null) return 'the third identical call among five is stopped';
  if (full.report.decisions.some(({ failure }) => failure === 'tool_loop') && failuresInARow(trajectory) > 3)
    return 'after four failures of one tool in a row, its next call is held back';
  return null;
}

export function airlinePage(outcomes: readonly Outcome[]): string {
  const off = outcomes.filter((each) => !isExact(each));
  const sum = (of: (ran: Ran) => number): number => outcomes.reduce((total, { full }) => total + of(full), 0);
  const stopped = (which: 'calls' | 'steps'): string => {
    const tried = outcomes.filter((each) => each[which] !== null);
    return `${tried.filter((each) => each[which] === true).length} of ${tried.length}`;
  };
  const rows = off.map((each) => {
    const { trajectory, full } = each;
    const made = `${full.dispatched.length} of ${callsOf(trajectory).length}`;
    const said = full.report.error?.message ?? '';
    return `| ${trajectory.task_id}/${trajectory.trial} | ${made} | ${String(full.report.code)} | ${reasonFor(each) ?? 'not explained'}${said === '' ? '' : ` (${said})`} |`;
  });
  return `# The airline runs

${outcomes.length} recorded conversations of a booking clerk with its customers, played through the bounded loop. Model, tools and customers
answer as recorded, and a supervisor approves. \`node scripts/airline.ts\` writes this page. A test compares it with the runs if the data is
[beside the project](TESTING.md#figures-over-evaluation-data).

| | |
|---|---|
| runs that go exactly as recorded and end \`SUCCESS\` | ${outcomes.length - off.length} of ${outcomes.length} |
| tool calls | ${sum(({ dispatched }) => dispatched.length)} |
| calls that change something, each approved before it was made | ${sum(({ approved }) => approved)} |
| calls that change something without an approval | ${sum(({ unasked }) => unasked.length)} |
| calls made twice | ${sum(({ keys }) => keys.length - new Set(keys).size)} |
| journals whose replay gives the same events | ${outcomes.filter(({ full }) => full.difference === null).length} of ${outcomes.length} |
| runs with too small a budget of tool calls that stop exactly before the first call above it | ${stopped('calls')} |
| runs with too small a budget of steps that stop exactly before the first turn above it | ${stopped('steps')} |

The small budgets are chosen at random for each run, between zero and one less than it needs. A run without tool calls has no such budget for
them. The text of answers is not checked here, because a recorded agent cannot repair it; it is
[measured separately](dialects/loop.md#how-well-it-works).

## Not as recorded

| run | calls made | ended | why |
|---|---|---|---|
${rows.join('\n')}

Here the loop applied its rules: it stopped the agent where the recorded one continued. All calls that were made are recorded ones, in their order.
`;
}
