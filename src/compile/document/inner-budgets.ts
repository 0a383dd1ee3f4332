/**
 * The tightest budgets of the parts of a flow, such as stages and sub-flows. A call inside of a part reserves its budget, so a
 * budget for tokens or money needs a limit for each reply there too.
 */
import { childOf } from '../source/located.ts';
import type { Located } from '../source/located.ts';
import type { ReadDocument } from './document.ts';
import type { Budgets } from './schema/bounds.ts';

export function innerBudgets({ doc, body }: ReadDocument): Budgets | undefined {
  const flows = childOf(doc, 'flows');
  const all = [body, ...(flows === undefined ? [] : [flows])].flatMap((part) => [...budgetsIn(part)]);
  if (all.length === 0) return undefined;
  const tightest: { [field: string]: number } = {};
  for (const [field, limit] of all) tightest[field] = Math.min(limit, tightest[field] ?? Infinity);
  return tightest;
}

/** The budgets of a part of the flow that limit a reply. Output tokens count like all tokens: a reply takes at most a quarter. */
export function replyShare(inner: Budgets | undefined): Budgets | undefined {
  if (inner === undefined) return undefined;
  const tokens = Math.min(inner.tokens ?? Infinity, inner.output_tokens ?? Infinity);
  return {
    ...(tokens === Infinity ? {} : { tokens }),
    ...(inner.cost_usd === undefined ? {} : { cost_usd: inner.cost_usd }),
  };
}

/** Fields whose content is the author's own. A `budget` in there is data. */
const DATA: ReadonlySet<string> = new Set(['input', 'output', 'params', 'values', 'over']);

function* budgetsIn(body: Located): Generator<readonly [field: string, limit: number]> {
  if (body.kind === 'list') for (const item of body.items) yield* budgetsIn(item);
  if (body.kind !== 'map') return;
  for (const { key, value } of body.entries.values()) {
    if (key === 'budget') yield* limitsIn(value);
    else if (!DATA.has(key)) yield* budgetsIn(value);
  }
}

function* limitsIn(budget: Located): Generator<readonly [field: string, limit: number]> {
  if (budget.kind !== 'map') return;
  for (const { key, value } of budget.entries.values())
    if (value.kind === 'scalar' && typeof value.value === 'number') yield [key, value.value];
}
