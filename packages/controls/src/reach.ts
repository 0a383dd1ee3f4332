/** How far a call reaches: whether its arguments must be traced, and whether a person may be asked about it. */
import { onlyReads, statesOfCalls } from '@sluice-internal/kernel/ir';
import type { BoundaryDef, ToolDef } from '@sluice-internal/kernel/ir';
import type { Boundary, ProposedCall } from './control.ts';
import { watchesRepeats } from './repeat.ts';

/** Categories of writes that stay in the run's own folder or sandbox, or that only record a judgement. */
const CONTAINED: ReadonlySet<string> = new Set(['file_system', 'sandbox', 'review']);

/** The control that traces the arguments. */
export type Traced = 'egress' | 'provenance';

/** Null if the arguments need no check: the call changes nothing, or nothing outside the run. */
export function tracedBy(
  { def, hasSecrets }: Pick<ProposedCall, 'def' | 'hasSecrets'>,
  { untrusted, profile }: Pick<BoundaryDef, 'untrusted' | 'profile'>,
): Traced | null {
  if (untrusted === 'off') return null;
  if ((def?.effect ?? 'write') === 'egress') return hasSecrets || profile !== null ? 'egress' : null;
  return isHarmless(def) ? null : 'provenance';
}

/** The call only reads, or its writes stay in the run's own folder. */
export function isHarmless(def: ToolDef | undefined): boolean {
  const { effect = 'write', category = '' } = def ?? {};
  return onlyReads(effect) || (effect === 'write' && CONTAINED.has(category));
}

/** A person may be asked about the call. */
export function mayAsk(call: ProposedCall, boundary: Boundary): boolean {
  const { tool, def, agent, needsApproval, traced } = call;
  if (statesOfCalls(def)) return true;
  if (agent === null) return needsApproval || (traced !== undefined && boundary.untrusted !== 'deny');
  if (watchesRepeats(call)) return true;
  return boundary.tools.approve.includes(tool) || tracedBy(call, boundary) !== null || !isHarmless(def);
}
