/** The budget of a stage: one meter per limited dimension. Every call of the stage charges it. */
import { BUDGET_ROWS } from '../../../ir/dimensions.ts';
import type { Expr, MeterId } from '../../../ir/nodes.ts';
import type { Budgets } from '../../document/schema/bounds.ts';
import { literal } from '../../expressions/cel-text.ts';
import { EFFECT_DIMENSIONS, STEPS } from '../../lower/budget-meters.ts';
import { nameOf } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Stage } from './model.ts';
import { TRIPPED } from './slots.ts';

export interface StageMeter {
  readonly id: MeterId;
  readonly max: number;
}

/** Adds the meters, if they are not there yet. A call without room goes where its node says, not to the end given here. */
export function stageMeters(l: Lowering, stage: Stage): readonly StageMeter[] {
  const { budget } = stage;
  if (budget === undefined) return [];
  const over = l.builder.end({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  const name = nameOf(l, stage.id);
  return EFFECT_DIMENSIONS.flatMap((row) => {
    const limit = budget[row.key];
    if (limit === undefined) return [];
    const max = Math.round(limit * row.scale);
    const id = l.builder.meter(`budget.${row.name}@stage:${name}`, {
      unit: row.name,
      max,
      over,
      label: `${name}.budget.${row.key}`,
    });
    return [{ id, max }];
  });
}

/** The budget that had no room, as the document spells it, with the amounts in its unit. */
export function overspentMessage(l: Lowering): Expr {
  const { staged } = l;
  const { budgets = {}, agentBudgets } = staged.definitions;
  const stages = [staged.plan, staged.working, staged.aggregate, staged.validate, staged.finalize];
  const rows = [
    ...rowsOf(budgets, 'budgets', ''),
    ...stages.flatMap(({ id, budget = {} }) => rowsOf(budget, `${nameOf(l, id)}.budget`, `@stage:${nameOf(l, id)}`)),
    ...Object.entries(agentBudgets).flatMap(([agent, own]) => rowsOf(own, `${agent}.budgets`, `@${agent}`)),
  ];
  const known = literal(Object.fromEntries(rows));
  const other = literal(['the budget of an outer stage', '', 1]);
  const row = `cel.bind(all, ${known}, ${TRIPPED}.meter in all ? all[${TRIPPED}.meter] : ${other})`;
  const [left, needs] = [`b[1], ${TRIPPED}.left / b[2]`, `b[1], ${TRIPPED}.needs / b[2]`];
  return `cel.bind(b, ${row}, text(b[0], " has ", ${left}, " left, and ", ${needs}, " is needed"))`;
}

/** For each meter: the budget in the document, the sign before an amount, and the scale. */
function rowsOf(
  budgets: Budgets,
  path: string,
  scope: string,
): readonly (readonly [MeterId, [string, string, number]])[] {
  return BUDGET_ROWS.flatMap(({ key, name, scale, charged }) => {
    if (budgets[key] === undefined) return [];
    const id = charged === 'visit' ? STEPS : `budget.${name}`;
    return [[`${id}${scope}`, [`${path}.${key}`, name === 'costMicros' ? '$' : '', scale]]];
  });
}
