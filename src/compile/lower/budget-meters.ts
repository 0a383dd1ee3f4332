/**
 * The meters that the section `budgets` sets: one per limited dimension, charged by every effect; `steps` is there always,
 * since it also counts, and is charged by every node that counts as entered.
 */
import type { Dimension, Meter, MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { CLOCK } from '../../ir/meters.ts';
import type { Budgets } from '../document/schema/bounds.ts';

export const STEPS: MeterId = 'steps';

export const BUDGET_DIMENSIONS: readonly (readonly [keyof Budgets, Dimension])[] = [
  ['model_calls', 'modelCalls'],
  ['tool_calls', 'toolCalls'],
  ['external_calls', 'externalCalls'],
  ['input_tokens', 'inputTokens'],
  ['output_tokens', 'outputTokens'],
  ['cost_usd', 'costMicros'],
  ['retries', 'retries'],
  ['reflections', 'reflections'],
  ['context_tokens', 'contextTokens'],
  ['memory_writes', 'memoryWrites'],
  ['side_effects', 'sideEffects'],
];

export function budgetMeters(budgets: Budgets | undefined, over: NodeId): { readonly [id: MeterId]: Meter } {
  const meters: { [id: MeterId]: Meter } = {
    [STEPS]: { unit: 'steps', max: budgets?.steps ?? null, over, label: 'budgets.steps' },
  };
  for (const [field, dimension] of BUDGET_DIMENSIONS) {
    const limit = budgets?.[field];
    if (limit === undefined) continue;
    const max = dimension === 'costMicros' ? Math.round(limit * 1_000_000) : limit;
    meters[`budget.${dimension}`] = { unit: dimension, max, over, label: `budgets.${field}` };
  }
  return meters;
}

/** The time of the run, where somebody may grant more of it. */
export function clockMeter(deadlineMs: number | null, over: NodeId): { readonly [id: MeterId]: Meter } {
  if (deadlineMs === null) return {};
  return { [CLOCK]: { unit: 'time', max: deadlineMs, over, label: 'budgets.wall_clock_seconds' } };
}

/** What single agents may use: meters of their own beside those of the run. Their time runs while they or their tools work. */
export function agentMeters(
  budgets: { readonly [agent: string]: Budgets },
  over: NodeId,
  late: NodeId,
): { readonly [id: MeterId]: Meter } {
  const meters: { [id: MeterId]: Meter } = {};
  for (const [agent, budget] of Object.entries(budgets)) {
    const own = budgetMeters(budget, over);
    for (const [id, meter] of Object.entries(own))
      if (meter.max !== null) meters[agentMeter(agent, id)] = { ...meter, label: `${agent}.${meter.label}` };
    const seconds = budget.wall_clock_seconds;
    if (seconds === undefined) continue;
    const label = `${agent}.budgets.wall_clock_seconds`;
    meters[agentMeter(agent, 'time')] = { unit: 'time', max: Math.ceil(seconds * 1000), over: late, label };
  }
  return meters;
}

/** The meters that calls of an agent charge beside the run's. */
export function agentMeterIds(budgets: { readonly [agent: string]: Budgets }, agent: string): readonly MeterId[] {
  const own = Object.hasOwn(budgets, agent) ? budgets[agent] : undefined;
  const counted = BUDGET_DIMENSIONS.filter(([field]) => own?.[field] !== undefined).map(([, dimension]) =>
    agentMeter(agent, `budget.${dimension}`),
  );
  return own?.wall_clock_seconds === undefined ? counted : [...counted, agentMeter(agent, 'time')];
}

/** The meter that a turn of an agent charges as it begins. */
export function agentSteps(budgets: { readonly [agent: string]: Budgets }, agent: string): readonly MeterId[] {
  const own = Object.hasOwn(budgets, agent) ? budgets[agent] : undefined;
  return own?.steps === undefined ? [] : [agentMeter(agent, STEPS)];
}

function agentMeter(agent: string, id: MeterId): MeterId {
  return `${id}@${agent}`;
}

/** The node with the common meters added to its own, which keep their place in front. */
export function chargesOf(node: Node, budget: { readonly [id: MeterId]: Meter }): Node {
  const charges = [...(node.charges ?? [])];
  if (node.enters !== undefined) charges.push(STEPS);
  // A question that may raise a budget is asked because there is none left.
  const looks = node.op === 'do' ? node.grant === undefined : node.needs !== undefined;
  if (looks) charges.push(...Object.keys(budget).filter((id) => id !== STEPS));
  return charges.length === 0 ? node : { ...node, charges: [...new Set(charges)] };
}
