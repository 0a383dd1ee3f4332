/** Budgets with the names that TypeScript uses: `modelCalls` is `model_calls` in a document. */
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import type { BudgetKey } from '@sluice-internal/kernel/ir';

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/**
 * The most that a run may use. A dimension that is left out has no limit.
 * @example
 * const budgets: Budgets = { modelCalls: 5, costUsd: 0.1 };
 */
export type Budgets = { readonly [Key in BudgetKey | 'wall_clock_seconds' as Camel<Key>]?: number | undefined };

export function budgetsOf(budgets: Budgets): { readonly [key: string]: number } {
  const entries = Object.entries(budgets).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return Object.fromEntries(entries.map(([name, amount]) => [KEYS.get(name) ?? name, amount]));
}

const KEYS: ReadonlyMap<string, string> = new Map(
  [...BUDGET_ROWS.map(({ key }) => key), 'wall_clock_seconds'].map((key) => [
    key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    key,
  ]),
);
