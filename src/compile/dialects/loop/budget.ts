/**
 * What happens where a budget has no room: somebody is asked for more, as often as the document allows, and what they grant
 * is added to the limit; or the run ends before the call that would need it.
 */
import type { Node, NodeId } from '../../../core/ir.ts';
import { BUDGET_DIMENSIONS, STEPS } from '../../budget-meters.ts';
import { literal, object, quote } from '../../cel-text.ts';
import { addLet, addQuestion, failedTrace } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { ENDING, set } from './slots.ts';

const LABELS: { readonly [meter: string]: string } = {
  [STEPS]: 'budgets.steps',
  ...Object.fromEntries(BUDGET_DIMENSIONS.map(([field, dimension]) => [`budget.${dimension}`, `budgets.${field}`])),
};
const SHORT = `text(${literal(LABELS)}[tripped.meter], " has ", tripped.left, " left, and ", tripped.needs, " are needed")`;

/** Gives every call its way out. What is called inside a branch ends that branch, and the join then ends the run. */
export function budgetGate(l: Lowering): (id: NodeId, node: Node) => Node {
  const main = addStop(l, 'budget', failedTrace(l));
  const branch = addStop(l, 'budget.branch', l.builder.failedEnd());
  const { people, expansions } = l.loop.escalation;
  const meter =
    people && expansions > 0
      ? (over: NodeId, kind: string) =>
          l.builder.meter(`expansions:${kind}`, {
            unit: 'visits',
            max: expansions,
            over,
            label: 'escalation.expansions',
          })
      : null;
  return (id, node) => {
    // Whatever looks at a budget, be it only to see that what comes later will not fit, has a way out of its own.
    if (node.denied !== undefined || (node.op !== 'do' && node.needs === undefined)) return node;
    const inBranch = node.origin.startsWith('tool_invocation');
    const over = inBranch ? branch : main;
    if (meter === null) return { ...node, denied: over };
    return { ...node, denied: addExpansion(l, id, over, meter(over, inBranch ? 'calls' : 'turns')) };
  };
}

function addStop(l: Lowering, hint: string, next: NodeId): NodeId {
  const error = object([
    ['class', quote('budget')],
    ['type', quote('BudgetError')],
    ['message', SHORT],
    ['node', quote(l.loop.id)],
    ['code', quote('BUDGET_EXHAUSTED')],
  ]);
  l.stops.add('BUDGET_EXHAUSTED');
  return addLet(
    l,
    l.builder.fresh(`stop:${hint}`),
    'budget',
    [set('error', error), set(ENDING, quote('BUDGET_EXHAUSTED'))],
    next,
  );
}

/** A yes without a number grants what the call lacks. */
function addExpansion(l: Lowering, id: NodeId, over: NodeId, meter: string): NodeId {
  const amounts = [
    [STEPS, 'steps', 1] as const,
    ...BUDGET_DIMENSIONS.map(
      ([field, dimension]) => [`budget.${dimension}`, field, field === 'cost_usd' ? 1_000_000 : 1] as const,
    ),
  ];
  const limited = amounts.filter(([, field]) => l.loop.definitions.budgets?.[field] !== undefined);
  const grant = limited.map(([each, field, scale]) => {
    const lacks = `tripped.meter == ${quote(each)} && it.edit == null ? tripped.needs - tripped.left : 0`;
    const given = scale === 1 ? `it.edit.${field}` : `it.edit.${field} * ${scale}.0`;
    return [each, `it.choice != "approve" ? 0 : it.edit.${field} != null ? ${given} : ${lacks}`];
  });
  return addQuestion(l, {
    id: l.builder.fresh('budget.ask'),
    row: 'budget_reached',
    about: 'budget',
    code: 'CONFIRM_REQUIRED',
    choices: ['approve', 'reject'],
    message: `text("More budget is needed: ", ${SHORT}, ".")`,
    payload: { short: 'tripped', budget: 'budget' },
    charges: [meter],
    grant: Object.fromEntries(grant) as { [meter: string]: string },
    ways: { approve: id },
    otherwise: over,
  });
}
