/** `sluice budget`: the retry budget that all runs of a database share. */
import type { BudgetState } from '../../../runtime/protections/retry-budget.ts';
import { DEFAULT_RETRY_BUDGET, RETRY_BUDGET_KEY } from '../../../runtime/protections/retry-budget.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { withStore } from '../store.ts';
import { table } from '../text.ts';

const UNUSED: BudgetState = {
  ...DEFAULT_RETRY_BUDGET,
  tokens: DEFAULT_RETRY_BUDGET.burst,
  calls: 0,
  retries: 0,
  denied: 0,
  lastRetryAt: 0,
};

export async function budgetCommand(cli: Cli): Promise<ExitStatus> {
  const stored = await withStore(cli, async (store) => (store === null ? null : store.shared.get(RETRY_BUDGET_KEY)));
  const { tokens, share, burst, calls, retries, denied, lastRetryAt } =
    stored === null ? UNUSED : (stored as unknown as BudgetState);
  const last = lastRetryAt === 0 ? null : new Date(lastRetryAt).toISOString();
  const retryBudget = { tokens, share, burst, calls, retries, denied, lastRetryAt: last };
  if (cli.json) cli.printJson({ retryBudget });
  else
    cli.screen.print(
      table([
        ['retries left', `${Math.floor(tokens + 1e-9)} of ${burst}`],
        ['refilled by', `${Math.round(share * 100)} % of calls`],
        ['calls counted', String(calls)],
        ['retries made', String(retries)],
        ['retries denied', String(denied)],
        ['last retry', last ?? '-'],
      ]),
    );
  return OK;
}
