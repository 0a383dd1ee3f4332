/** How far a call reaches: whether its arguments must be traced, and whether a person may be asked about it. */
import { CLASS_CONTROLS, onlyReads, statesOfCalls } from '@sluice-internal/kernel/ir';
import type { BoundaryDef, ToolDef } from '@sluice-internal/kernel/ir';
import type { Boundary, ProposedCall } from './control.ts';
import { watchesRepeats } from './repeat.ts';

/** Categories of writes that stay in the run's own folder or sandbox, or that only record a judgement. */
const CONTAINED: ReadonlySet<string> = new Set(['file_system', 'sandbox', 'review']);

/** A control that traces the arguments. */
export type Traced = 'provenance' | 'egress' | 'confidential';

/** The controls that trace the arguments of a call, by the class of its tool. */
export function tracedBy(
  { def, hasSecrets }: Pick<ProposedCall, 'def' | 'hasSecrets'>,
  { untrusted, profile }: Pick<BoundaryDef, 'untrusted' | 'profile'>,
): readonly Traced[] {
  const row = CLASS_CONTROLS[def?.effect ?? 'write'];
  const traced: Traced[] = [];
  if (row.traced && untrusted !== 'off' && !isHarmless(def)) traced.push('provenance');
  if (row.egress && untrusted !== 'off' && profile !== null) traced.push('egress');
  // Whoever is trusted: what was read in confidence does not leave by itself, nor into a file that another tool reads.
  if (row.confidential && hasSecrets) traced.push('confidential');
  return traced;
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
  return boundary.tools.approve.includes(tool) || tracedBy(call, boundary).length > 0 || !isHarmless(def);
}
