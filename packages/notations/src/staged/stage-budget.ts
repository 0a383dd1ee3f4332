/** The budgets that a stage can use up: those of the stage, of the run, and of single agents. */
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import type { DoNode, Expr, MeterId } from '@sluice-internal/kernel/ir';
import type { Budgets } from '@sluice-internal/compile/document';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { FAILED, STEPS } from '@sluice-internal/compile/lower';
import { nameOf, type Lowering } from './lowering.ts';
import type { Stage } from './model.ts';
import { TRIPPED } from './slots.ts';

/** Adds one meter per limited dimension, if they are not there yet. Every call of the stage charges them. */
export function stageMeters(l: Lowering, stage: Stage): readonly MeterId[] {
  // A call without room takes the route of its node, not this end.
  const over = l.builder.end({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  return stageBudget(l, stage).map(({ id, unit, max, label }) => l.builder.meter(id, { unit, max, over, label }));
}

/** The budget that had no room, as the document spells it, with the amounts in its unit. */
export function overspentMessage(l: Lowering, stage: Stage): Expr {
  const rows = budgetsOf(l, stage).map(({ id, unit, scale, label }) => [
    id,
    [label, unit === 'costMicros' ? '$' : '', scale],
  ]);
  const known = literal(Object.fromEntries(rows));
  const other = literal(['a budget', '', 1]);
  const row = `cel.bind(all, ${known}, ${TRIPPED}.meter in all ? all[${TRIPPED}.meter] : ${other})`;
  const [left, needs] = [`b[1], ${TRIPPED}.left / b[2]`, `b[1], ${TRIPPED}.needs / b[2]`];
  return `cel.bind(b, ${row}, text(b[0], " has ", ${left}, " left, and ", ${needs}, " is needed"))`;
}

/** Approving after a budget was used up grants that budget once more. */
export function grantsOf(l: Lowering, stage: Stage): NonNullable<DoNode['grant']> {
  const granted = `it.choice == "approve" && ${FAILED}.failure == "cost_overrun"`;
  return Object.fromEntries(
    budgetsOf(l, stage).map(({ id, max }) => [id, `${granted} && ${TRIPPED}.meter == ${quote(id)} ? ${max} : 0`]),
  );
}

interface LimitedBudget {
  readonly id: MeterId;
  readonly unit: (typeof BUDGET_ROWS)[number]['name'];
  readonly max: number;
  readonly scale: number;
  /** The key in the document. */
  readonly label: string;
}

function budgetsOf(l: Lowering, stage: Stage): readonly LimitedBudget[] {
  const { budgets = {}, agentBudgets } = l.staged.definitions;
  return [
    ...limitsOf(budgets, 'budgets', ''),
    ...stageBudget(l, stage),
    ...Object.entries(agentBudgets).flatMap(([agent, own]) => limitsOf(own, `${agent}.budget`, `@${agent}`)),
  ];
}

function stageBudget(l: Lowering, { id, budget = {} }: Stage): readonly LimitedBudget[] {
  const name = nameOf(l, id);
  return limitsOf(budget, `${name}.budget`, `@stage:${name}`);
}

function limitsOf(budgets: Budgets, path: string, scope: string): readonly LimitedBudget[] {
  return BUDGET_ROWS.flatMap(({ key, name, scale, charged }) => {
    const limit = budgets[key];
    if (limit === undefined) return [];
    const id = charged === 'visit' ? STEPS : `budget.${name}`;
    return [{ id: `${id}${scope}`, unit: name, max: Math.round(limit * scale), scale, label: `${path}.${key}` }];
  });
}
