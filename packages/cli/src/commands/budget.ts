/** `sluice budget`: the retry budget that all runs of a database share, and how fast its latest runs spend. */
import type { Json } from '@sluice-internal/kernel/expr';
import { DEFAULT_RETRY_BUDGET } from '@sluice-internal/kernel/ir';
import { eachOf, valueAt } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { streamRun } from '@sluice-internal/engine/journal';
import { RETRY_BUDGET_KEY, SCRIPTED_BUDGET_KEY } from '@sluice-internal/engine/limits';
import type { BudgetState } from '@sluice-internal/engine/limits';
import { HOUR_MS, spendingOf, velocities } from '@sluice-internal/engine/report';
import type { Spending, Velocity } from '@sluice-internal/engine/report';
import { iso, oneLine, table } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { withStore } from '../session/store.ts';

const UNUSED: BudgetState = {
  ...DEFAULT_RETRY_BUDGET,
  tokens: DEFAULT_RETRY_BUDGET.burst,
  calls: 0,
  retries: 0,
  denied: 0,
  lastRetryAt: 0,
};

export async function budgetCommand(cli: Cli): Promise<void> {
  const now = Date.now();
  const { stored, scripted, spent } = await withStore(cli, async (store) => ({
    ...(await budgetIn(store)),
    spent: await spentIn(store, now - HOUR_MS),
  }));
  const { tokens, share, burst, calls, retries, denied, lastRetryAt } =
    stored === null ? UNUSED : (stored as unknown as BudgetState);
  const last = lastRetryAt === 0 ? null : iso(lastRetryAt);
  const retryBudget = { tokens, share, burst, calls, retries, denied, lastRetryAt: last, scripted };
  const velocity = {
    runs: velocities(spent, 'run', now),
    agents: velocities(spent, 'agent', now),
    stages: velocities(spent, 'node', now),
  };
  if (cli.json) cli.printJson({ retryBudget, velocity });
  else {
    cli.screen.print(
      table([
        ['retries left', `${Math.floor(tokens + 1e-9)} of ${burst}`],
        ['refilled by', `${Math.round(share * 100)} % of calls`],
        ['calls counted', String(calls)],
        ['retries made', String(retries)],
        ['retries denied', String(denied)],
        ['last retry', last ?? '-'],
        ...(scripted ? [['counted in', 'scripted runs only']] : []),
      ]),
    );
    if (spent.length === 0) cli.hint('no model call has spent anything in the last hour');
    else cli.screen.print(`\n${velocityTable(velocity)}`);
  }
}

/** The budget of real calls, or that of scripted ones if no real call was repeated yet. */
async function budgetIn({ shared }: Store): Promise<{ readonly stored: Json; readonly scripted: boolean }> {
  const real = await valueAt(shared, RETRY_BUDGET_KEY);
  const stored = real ?? (await valueAt(shared, SCRIPTED_BUDGET_KEY));
  return { stored, scripted: real === null && stored !== null };
}

/** The spending of runs that were active after this instant. */
async function spentIn({ index, journal }: Store, after: number): Promise<readonly Spending[]> {
  const spent: Spending[] = [];
  for await (const { run } of eachOf((page) => index.list({ ...page, changedSince: after }))) {
    const { program, events } = await streamRun(journal, run);
    spent.push(...spendingOf(run, program.flow, events));
  }
  return spent;
}

const ROWS_MAX = 10;

function velocityTable(velocity: { readonly [group: string]: readonly Velocity[] }): string {
  const rows = Object.entries(velocity).flatMap(([group, list]) =>
    list
      .slice(0, ROWS_MAX)
      .map(({ name, tokensPerMinute, usdPerHour, peakTokensPerMinute, peakUsdPerHour }) => [
        `${group.slice(0, -1)} ${oneLine(name, 40)}`,
        String(tokensPerMinute),
        String(peakTokensPerMinute),
        `$${usdPerHour}`,
        `$${peakUsdPerHour}`,
      ]),
  );
  return table([['SPENDS', 'TOKENS/MIN', 'PEAK', 'USD/HOUR', 'PEAK'], ...rows]);
}
