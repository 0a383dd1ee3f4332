/** Checks a grant of budgets before it reaches the engine, which knows no nearest names. */
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import { didYouMean } from '@sluice-internal/compile/source';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { BudgetGrant } from '@sluice-internal/engine/ports';

const NAMES: readonly string[] = [...BUDGET_ROWS.map(({ key }) => key), 'wall_clock_seconds'];

/** Throws `bad-budget` for an unknown budget and for an amount that is not above zero. */
export function checkedGrant(grant: BudgetGrant): BudgetGrant {
  for (const [name, amount] of Object.entries(grant.budget)) {
    if (!NAMES.includes(name))
      throw new SluiceError(
        'bad-budget',
        `there is no budget \`${name}\``,
        didYouMean(name, NAMES, `There are ${NAMES.join(', ')}.`),
      );
    if (typeof amount !== 'number' || !Number.isFinite(amount) || amount <= 0)
      throw new SluiceError(
        'bad-budget',
        `\`${name}\` cannot grow by ${amount}`,
        'Give an amount above zero: it is added to the budget.',
      );
  }
  return grant;
}
