/** Questions about meters that the compiler, the core and reports share. */
import type { Dimension } from './dimensions.ts';
import type { FlowBody, Meter } from './nodes.ts';

/** The run's own time; undefined if it has no deadline. */
export function clockOf({ clock, meters }: Pick<FlowBody, 'clock' | 'meters'>): Meter | undefined {
  return clock === undefined ? undefined : meters[clock];
}

/** True if the run stops at its deadline. Otherwise calls are cut off, and a person can grant more time. */
export function stopsAtDeadline(flow: Pick<FlowBody, 'clock' | 'meters'>): boolean {
  return clockOf(flow)?.halts !== false;
}

/** True if a meter limits the amount of a stretch of time, and not of the whole run. */
export function isVelocity({ unit, perMs }: Meter): boolean {
  return perMs !== undefined && isCounted(unit);
}

/** True if a meter counts amounts of a budget dimension, and not visits, repeats, a rate or time. */
export function isCounted(unit: Meter['unit']): unit is Dimension {
  return unit !== 'visits' && unit !== 'repeats' && unit !== 'turns' && unit !== 'rate' && unit !== 'time';
}
