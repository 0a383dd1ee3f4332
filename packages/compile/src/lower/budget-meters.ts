/**
 * The meters that apply in every notation, and the nodes that charge them: `steps` (charged by every entered node), one meter
 * per limited budget dimension (every effect), the budgets of single agents, and the rate limits of tools.
 */
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import type { DoNode, Meter, MeterId, Node, NodeId, ToolDef } from '@sluice-internal/kernel/ir';
import type { Budgets } from '../document/schema/bounds.ts';

export const STEPS: MeterId = 'steps';
export const CLOCK: MeterId = 'wall_clock';

/** The dimensions that effects charge. Steps are charged by entered nodes. */
export const EFFECT_DIMENSIONS = BUDGET_ROWS.filter(({ charged }) => charged !== 'visit');

export interface MeterOptions {
  readonly budgets: Budgets | undefined;
  /** The keys of budgets that the document has under another name. */
  readonly budgetKeys?: { readonly [field in keyof Budgets]?: string } | undefined;
  readonly agentBudgets: { readonly [agent: string]: Budgets };
  /** The time of the run; null if it has no deadline. */
  readonly timeMs: number | null;
  /** True if a person can grant more time. */
  readonly extendable: boolean;
  /** The nodes for a run that has used up a budget, and for a run without time. */
  readonly exhausted: NodeId;
  readonly late: NodeId;
}

export interface CommonMeters {
  readonly meters: { readonly [id: MeterId]: Meter };
  /** The node with the common meters after its own charges. `tool` is the tool that it calls. */
  charged(node: Node, tool: ToolDef | undefined): Node;
  /** The meter of a tool's rate limit. */
  rate(name: string, rate: NonNullable<ToolDef['rate']>): readonly [MeterId, Meter];
}

export function commonMeters(options: MeterOptions): CommonMeters {
  const { budgets, budgetKeys, agentBudgets, extendable, exhausted, late } = options;
  const budget = { ...budgetMeters(budgets, exhausted, budgetKeys), ...clockMeter(options) };
  const counted = Object.keys(budget).filter((id) => id !== STEPS && (id !== CLOCK || extendable));
  return {
    meters: { ...budget, ...agentMeters(agentBudgets, exhausted, late) },
    charged(node, tool) {
      const charges = [...(node.charges ?? [])];
      if (node.op === 'do') charges.push(...callMeters(node, agentBudgets, tool));
      if (node.label.enters !== undefined) charges.push(STEPS);
      // A question that can raise a budget is asked when that budget is used up, so it is not charged to it.
      const looks = node.op === 'do' ? node.grant === undefined : node.needs !== undefined;
      if (looks) charges.push(...counted);
      return charges.length === 0 ? node : { ...node, charges: [...new Set(charges)] };
    },
    rate: (name, { calls, perMs }) => [
      rateMeter(name),
      { unit: 'rate', max: calls, perMs, over: exhausted, label: `tools.${name}.rate_limit` },
    ],
  };
}

/** A model call charges the budget of its agent, a tool call the rate limit of its tool. */
function callMeters(
  { effect, label }: DoNode,
  agentBudgets: MeterOptions['agentBudgets'],
  tool: ToolDef | undefined,
): readonly MeterId[] {
  if (effect.kind === 'tool') return tool?.rate === undefined ? [] : [rateMeter(effect.tool)];
  if (effect.kind !== 'model') return [];
  const steps = label.enters === undefined ? [] : agentSteps(agentBudgets, effect.agent);
  return [...steps, ...agentMeterIds(agentBudgets, effect.agent)];
}

function rateMeter(tool: string): MeterId {
  return `rate:${tool}`;
}

function budgetMeters(
  budgets: Budgets | undefined,
  over: NodeId,
  keys: MeterOptions['budgetKeys'] = {},
): { readonly [id: MeterId]: Meter } {
  const meters: { [id: MeterId]: Meter } = {
    [STEPS]: { unit: 'steps', max: budgets?.steps ?? null, over, label: 'budgets.steps' },
  };
  for (const { key, name, scale } of EFFECT_DIMENSIONS) {
    const limit = budgets?.[key];
    if (limit === undefined) continue;
    const label = keys[key] ?? `budgets.${key}`;
    meters[`budget.${name}`] = { unit: name, max: Math.round(limit * scale), over, label };
  }
  return meters;
}

/** The time of the run. Calls charge it only if a person can grant more of it; otherwise the run stops when it is over. */
function clockMeter({ timeMs, extendable, late }: MeterOptions): { readonly [id: MeterId]: Meter } {
  if (timeMs === null) return {};
  return {
    [CLOCK]: { unit: 'time', max: timeMs, halts: !extendable, over: late, label: 'budgets.wall_clock_seconds' },
  };
}

/** The budgets of single agents. An agent's time runs while it or its tools work. */
function agentMeters(
  budgets: { readonly [agent: string]: Budgets },
  over: NodeId,
  late: NodeId,
): { readonly [id: MeterId]: Meter } {
  const meters: { [id: MeterId]: Meter } = {};
  for (const [agent, budget] of Object.entries(budgets)) {
    Object.assign(meters, ownMeters(agent, budget, over));
    const { wall_clock_seconds: seconds } = budget;
    if (seconds === undefined) continue;
    const label = `${agent}.budget.wall_clock_seconds`;
    meters[agentMeter(agent, 'time')] = { unit: 'time', max: Math.ceil(seconds * 1000), over: late, label };
  }
  return meters;
}

/** The limits of an agent or of a part of the flow. Its key is `budget`, that of the document is `budgets`. */
function ownMeters(owner: string, budgets: Budgets, over: NodeId): { readonly [id: MeterId]: Meter } {
  const limited = Object.entries(budgetMeters(budgets, over)).filter(([, { max }]) => max !== null);
  return Object.fromEntries(
    limited.map(([id, meter]) => [
      agentMeter(owner, id),
      { ...meter, label: meter.label.replace('budgets', () => `${owner}.budget`) },
    ]),
  );
}

export interface BudgetShare {
  readonly meters: { readonly [id: MeterId]: Meter };
  /** The node with the meters of the share after its other charges. */
  charged(node: Node): Node;
}

/** A share of the budgets, for a part of the flow. Its time is not among its meters: the part has a timeout instead. */
export function shareOf(name: string, budgets: Budgets, over: NodeId): BudgetShare {
  const meters = ownMeters(name, budgets, over);
  const counted = Object.keys(meters).filter((id) => !id.startsWith(`${STEPS}@`));
  const steps = Object.keys(meters).filter((id) => id.startsWith(`${STEPS}@`));
  return {
    meters,
    charged(node) {
      const entered = node.label.enters === undefined ? [] : steps;
      const called = node.op === 'do' && node.grant === undefined ? counted : [];
      const charges = [...(node.charges ?? []), ...entered, ...called];
      return charges.length === (node.charges ?? []).length ? node : { ...node, charges };
    },
  };
}

/** The meters that calls of an agent charge beside the run's. */
export function agentMeterIds(budgets: { readonly [agent: string]: Budgets }, agent: string): readonly MeterId[] {
  const own = Object.hasOwn(budgets, agent) ? budgets[agent] : undefined;
  const counted = EFFECT_DIMENSIONS.filter(({ key }) => own?.[key] !== undefined).map(({ name }) =>
    agentMeter(agent, `budget.${name}`),
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
