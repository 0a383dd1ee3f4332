/**
 * The nodes after an exhausted budget: a person is asked for more, up to `escalation.expansions` times, and the grant is added
 * to the limit. Otherwise the run ends before the call.
 */
import type { Expr, Node, NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { CLOCK, EFFECT_DIMENSIONS, STEPS, set } from '@sluice-internal/compile/lower';
import { literal, object, quote } from '@sluice-internal/compile/expressions';
import { addQuestion, failedTrace, part, type Lowering } from './nodes.ts';
import type { Loop } from './model.ts';
import { ENDING } from './state.ts';

const AMOUNTS = [
  [STEPS, 'steps', 1] as const,
  [CLOCK, 'wall_clock_seconds', 1000] as const,
  ...EFFECT_DIMENSIONS.map(({ name, key, scale }) => [`budget.${name}`, key, scale] as const),
];
const KEYS: { readonly [meter: string]: string } = Object.fromEntries(AMOUNTS.map(([meter, field]) => [meter, field]));
/** The exhausted meter: the run's, or `meter@agent`. */
const METER = 'tripped.meter.split("@")';
const LATE = `${METER}[0] in [${quote(CLOCK)}, "time"]`;
const OWNER = `(size(${METER}) == 1 ? "budgets." : text(${METER}[1], ".budget."))`;
const LEFT = amount('tripped.left');
const NEEDS = amount('tripped.needs');
const SHORT = `text(${OWNER}, ${LATE} ? "wall_clock_seconds is used up" : text(${literal(KEYS)}[${METER}[0]], " has ", ${LEFT}, " left, and ", ${NEEDS}, " is needed"))`;

/** A person may grant more time, so the deadline is a question and not the end of the run. */
export function isExtendable({ escalation, definitions }: Loop): boolean {
  return escalation.people && escalation.expansions > 0 && definitions.deadlineMs !== null;
}

/** Adds the route of an exhausted budget to every call. A call inside a branch ends the branch, and the join then ends the run. */
export function budgetGate(l: Lowering): (id: NodeId, node: Node) => Node {
  const main = addStop(l, 'budget', failedTrace(l));
  const branch = addStop(l, 'budget.branch', l.builder.failedEnd());
  const { people, expansions } = l.loop.escalation;
  const meter =
    people && expansions > 0
      ? (over: NodeId, kind: string) => l.kit.visits(`expansions:${kind}`, expansions, over, 'escalation.expansions')
      : null;
  return (id, node) => {
    // A node that only compares amounts with a budget (`needs`) has this route too.
    if (node.onBudget !== undefined || (node.op !== 'do' && node.needs === undefined)) return node;
    // The question about more budget.
    if (node.op === 'do' && node.grant !== undefined) return node;
    const inBranch = node.label.name.startsWith('tool_invocation');
    const over = inBranch ? branch : main;
    if (meter === null) return { ...node, onBudget: over };
    return { ...node, onBudget: addExpansion(l, id, over, meter(over, inBranch ? 'calls' : 'turns')) };
  };
}

function addStop(l: Lowering, hint: string, next: NodeId): NodeId {
  const code = `${LATE} ? "TIMEOUT" : "BUDGET_EXHAUSTED"`;
  const error = object([
    ['class', `${LATE} ? "timeout" : "budget"`],
    ['type', `${LATE} ? "TimeoutError" : "BudgetError"`],
    ['message', SHORT],
    ['node', `size(${METER}) == 1 ? ${quote(l.loop.id)} : ${METER}[1]`],
    ['code', code],
  ]);
  l.stops.add('BUDGET_EXHAUSTED');
  const timed = Object.values(l.loop.definitions.agentBudgets).some((own) => own.wall_clock_seconds !== undefined);
  if (timed || isExtendable(l.loop)) l.stops.add('TIMEOUT');
  return l.kit.set(part('budget', `stop:${hint}`), [set('error', error), set(ENDING, code)], next);
}

/** Approval without amounts grants what the call lacks; for time, the original limit again. */
function addExpansion(l: Lowering, id: NodeId, over: NodeId, meter: string): NodeId {
  const limited = AMOUNTS.filter(([, field]) => l.loop.definitions.budgets?.[field] !== undefined);
  const fields = [l.loop.definitions.budgets ?? {}, ...Object.values(l.loop.definitions.agentBudgets)].flatMap(
    (budget) => AMOUNTS.filter(([, field]) => budget[field] !== undefined).map(([, field]) => field),
  );
  const grant = [
    ...limited.map(([each, field, scale]) => [each, granted(each, field, scale)] as const),
    ...Object.entries(l.loop.definitions.agentBudgets).flatMap(([agent, budget]) =>
      AMOUNTS.filter(([, field]) => budget[field] !== undefined).map(([each, field, scale]) => {
        const own = `${each === CLOCK ? 'time' : each}@${agent}`;
        // A grant to an agent applies only where the agent's own budget tripped.
        return [own, `tripped.meter == ${quote(own)} ? (${granted(own, field, scale)}) : 0`] as const;
      }),
    ),
  ];
  return addQuestion(l, {
    hint: 'budget.ask',
    row: 'budget_reached',
    about: 'budget',
    code: 'CONFIRM_REQUIRED',
    choices: [{ name: 'approve', edit: amounts([...new Set(fields)]) }, 'reject'],
    message: `text("More budget is needed: ", ${SHORT}, ".")`,
    payload: {
      short: 'tripped',
      budget: 'budget',
      problem: quote('a yes without amounts grants only what is missing'),
    },
    charges: [meter],
    grant: Object.fromEntries(grant),
    ways: { approve: id },
    otherwise: over,
  });
}

/** Money is counted in millionths and shown in dollars. */
function amount(count: Expr): Expr {
  return `(${METER}[0] == "budget.costMicros" ? text("$", ${count} / 1000000.0) : text(${count}))`;
}

const MEASURED: ReadonlySet<string> = new Set(['cost_usd', 'wall_clock_seconds']);

/** The schema of a grant. Only limited amounts can be granted. */
function amounts(fields: readonly string[]): Json {
  const properties = Object.fromEntries(
    fields.map((field): [string, Json] => [
      field,
      MEASURED.has(field) ? { type: 'number', exclusiveMinimum: 0 } : { type: 'integer', minimum: 1 },
    ]),
  );
  return { type: 'object', properties, additionalProperties: false, minProperties: 1 };
}

/** The granted number, or the amount that the call lacks. */
function granted(meter: string, field: string, scale: number): Expr {
  const lacks = `tripped.meter == ${quote(meter)} ? tripped.needs - tripped.left : 0`;
  const given = scale === 1 ? `it.edit.${field}` : whole(`it.edit.${field} * ${scale}.0`);
  return `it.choice != "approve" ? 0 : it.edit.${field} != null ? ${given} : ${lacks}`;
}

/** Rounds to the nearest integer. A product above the integer range stays as it is. */
function whole(product: Expr): Expr {
  return `(${product} < 9000000000000000.0 ? int(${product} + 0.5) : ${product})`;
}
