/** Properties of meters that the compiler, the core and reports use. */
import { shownAmount, type Dimension } from './dimensions.ts';
import type { FlowBody, Meter, MeterId, Node, NodeId } from './nodes.ts';

/** The run's own time; undefined if it has no deadline. */
export function clockOf({ clock, meters }: Pick<FlowBody, 'clock' | 'meters'>): Meter | undefined {
  return clock === undefined ? undefined : meters[clock];
}

/** The meter of a budget of the whole run. */
export function budgetMeter(dimension: Dimension): MeterId {
  return dimension === 'steps' ? 'steps' : `budget.${dimension}`;
}

/** True if the run stops at its deadline. Otherwise calls are cut off, and a person can grant more time. */
export function stopsAtDeadline(flow: Pick<FlowBody, 'clock' | 'meters'>): boolean {
  return clockOf(flow)?.halts !== false;
}

/** True if a meter limits the amount of the last `perMs`, and not of the whole run. */
export function isVelocity({ unit, perMs }: Meter): boolean {
  return perMs !== undefined && isCounted(unit);
}

/** True if a meter counts amounts of a budget dimension, and not visits, repeats, a rate or time. */
export function isCounted(unit: Meter['unit']): unit is Dimension {
  return unit !== 'visits' && unit !== 'repeats' && unit !== 'turns' && unit !== 'rate' && unit !== 'time';
}

/** True if each visit of a node that charges the meter counts one. */
export function countsVisits({ unit }: Meter): boolean {
  return unit === 'visits' || unit === 'steps';
}

/** The message of a meter without room: `budgets.cost_usd has $0.04 left, and $0.06 is needed`. */
export function shortfall({ unit, label }: Meter, { left, needs }: { left: number; needs: number }): string {
  // Money is counted in millionths of a dollar.
  const amount = (count: number): string => (unit === 'costMicros' ? `$${shownAmount(unit, count)}` : String(count));
  return `${label} has ${amount(left)} left, and ${amount(needs)} is needed`;
}

/** The node for a thread if the meter has no room here. `noted`: the slot `tripped` has the meter and the reason. */
export function overTarget(node: Node, meter: Meter): { readonly to: NodeId; readonly noted?: true } {
  if (meter.unit === 'repeats') return { to: meter.over };
  if (meter.unit === 'turns') return { to: node.onStuck ?? meter.over };
  if (isVelocity(meter)) return { to: node.onVelocity ?? meter.over };
  if (meter.unit === 'visits') return { to: node.onVisits ?? meter.over };
  return node.onBudget === undefined ? { to: meter.over } : { to: node.onBudget, noted: true };
}
