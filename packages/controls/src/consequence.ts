/** The consequence of a refusal: that of the boundary, else `fail` (the run ends) for severe ones, else `tell` (the agent). */
import type { BoundaryDef, Consequence, ToolDef } from '@sluice-internal/kernel/ir';

/** Reasons to refuse a proposed tool call or its result. Each has a consequence. */
export type Trouble = 'unregistered' | 'malformed' | 'denied' | 'rate' | 'rejected' | 'unverified';

const GRAVE: ReadonlySet<string> = new Set(['financial', 'infrastructure']);

export function consequenceOf(
  { escalation }: Pick<BoundaryDef, 'escalation'>,
  trouble: Trouble,
  effect: ToolDef['effect'] | null,
): Consequence {
  const written = Object.hasOwn(escalation, trouble) ? escalation[trouble] : undefined;
  if (written !== undefined) return written;
  const isGrave = (trouble === 'denied' || trouble === 'unverified') && effect !== null && GRAVE.has(effect);
  return isGrave || trouble === 'malformed' ? 'fail' : 'tell';
}
