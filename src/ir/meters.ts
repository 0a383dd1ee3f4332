/** Names and questions about meters that the compiler, the core and reports share. */
import type { Dimension, Meter, MeterId } from './nodes.ts';

/** The meter of a run's own time, if a person may grant more of it. */
export const CLOCK: MeterId = 'wall_clock';

/** Whether a meter counts amounts of a budget dimension, rather than visits, repeats, a rate or time. */
export function isCounted(unit: Meter['unit']): unit is Dimension {
  return unit !== 'visits' && unit !== 'repeats' && unit !== 'rate' && unit !== 'time';
}
