/**
 * The tightest budgets of the parts of a flow, such as stages and sub-flows. A call inside of a part reserves its budget, so a
 * budget for tokens or money needs a limit for each reply there too.
 */
import { childOf, type Located } from '../source/located.ts';
import type { ReadDocument } from './document.ts';
import type { Budgets } from './schema/bounds.ts';

export function innerBudgets({ doc, body }: ReadDocument): Budgets | undefined {
  const all = [body, ...valuesOf(childOf(doc, 'flows'))].flatMap((flow) => [...budgetsOf(flow)]);
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

/**
 * Parts are nodes, stages and steps: a field of the flow, or an item of a list there. A part of a part is a flow of its own under
 * `staged`. Deeper fields are the author's data, where a `budget` limits nothing.
 */
function* budgetsOf(flow: Located): Generator<readonly [field: string, limit: number]> {
  for (const field of valuesOf(flow))
    for (const part of field.kind === 'list' ? field.items : [field]) {
      yield* limitsIn(childOf(part, 'budget'));
      const inner = childOf(part, 'staged');
      if (inner !== undefined) yield* budgetsOf(inner);
    }
}

function* limitsIn(budget: Located | undefined): Generator<readonly [field: string, limit: number]> {
  if (budget?.kind !== 'map') return;
  for (const { key, value } of budget.entries.values())
    if (value.kind === 'scalar' && typeof value.value === 'number') yield [key, value.value];
}

function valuesOf(map: Located | undefined): readonly Located[] {
  return map?.kind === 'map' ? [...map.entries.values()].map(({ value }) => value) : [];
}
