/** All controls, in the order of the walk. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Control } from '@sluice-internal/kernel/ir';
import { approvalControl } from './approval.ts';
import { argumentsControl } from './arguments.ts';
import { budgetControl } from './budget.ts';
import type { Boundary, ControlFile, Libraries, ProposedCall } from './control.ts';
import { failClosedControl } from './fail-closed.ts';
import { denyControl, policyControl } from './permission.ts';
import { confidentialControl, egressControl, provenanceControl } from './provenance.ts';
import { rateControl } from './rate.ts';
import { rejectedControl } from './rejected.ts';
import { repeatControl } from './repeat.ts';
import { statedControl } from './stated.ts';

const CONTROLS: readonly ControlFile[] = [
  argumentsControl,
  denyControl,
  policyControl,
  budgetControl,
  rateControl,
  statedControl,
  provenanceControl,
  egressControl,
  confidentialControl,
  failClosedControl,
  rejectedControl,
  repeatControl,
  approvalControl,
];

/** The controls that a call has to pass. */
export function controlsOf(call: ProposedCall, boundary: Boundary): readonly Control[] {
  return CONTROLS.flatMap((each) => each.lower(call, boundary) ?? []);
}

/** Judges a call by the control of this name; undefined if there is no such check. */
export function performControl<Call>(name: string, call: Call, libraries: Libraries<Call>): Json | undefined {
  return CONTROLS.find((each) => each.name === name)?.perform?.(call, libraries);
}

export { ANSWER } from './approval.ts';
export { consequenceOf } from './consequence.ts';
export type { Trouble } from './consequence.ts';
export type { Libraries, ProposedCall } from './control.ts';
export { GUARD_NAMES } from './fail-closed.ts';
export { escalationField, refusalFields, rowOfTool } from './packet.ts';
export { tracedBy } from './reach.ts';
export type { Traced } from './reach.ts';
