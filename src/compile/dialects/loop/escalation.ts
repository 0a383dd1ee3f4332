/**
 * Who takes over when the loop may not go on by itself. The routes and the rows are data: a question that a run asks names
 * its row, so that whoever answers sees how grave it is, whose it is and what happens meanwhile.
 */
import type { TerminalCode } from '../../../core/codes.ts';

export const ROUTES = {
  fail_closed: { to: 'nobody', does: 'the action is blocked, the trace is kept, and the run ends' },
  human_approval: { to: 'a person with authority', does: 'the action waits for a yes or a no' },
  ask_user: { to: 'the user or operator', does: 'the run waits for what is missing and then goes on' },
  review: { to: 'a safer model or a review queue', does: 'the evidence is kept, and only a validated result goes on' },
  degraded: { to: 'a fallback', does: 'a lesser way is taken, or the run says cleanly what is not available' },
} as const;
export type Route = keyof typeof ROUTES;

export interface EscalationRow {
  readonly severity: 'low' | 'low to moderate' | 'moderate' | 'moderate to high' | 'high';
  readonly endpoint: string;
  readonly route: Route;
  readonly recovery: string;
  /** What the run shows while it waits, or ends in where it cannot. */
  readonly code: TerminalCode;
}

export const ESCALATIONS = {
  high_impact_mutation: row(
    'high',
    'user or operator',
    'human_approval',
    'Shows the action, its arguments, what it touches and how to take it back.',
    'CONFIRM_REQUIRED',
  ),
  financial_commitment: row(
    'high',
    'manager or procurement',
    'human_approval',
    'Frozen until the budget and the approval chain are confirmed.',
    'CONFIRM_REQUIRED',
  ),
  external_communication: row(
    'moderate to high',
    'user',
    'human_approval',
    'A draft only; sent after an explicit yes.',
    'CONFIRM_REQUIRED',
  ),
  missing_input: row('low', 'user', 'ask_user', 'Waits for the field that is missing.', 'MISSING_INFO'),
  ambiguous_goal: row(
    'low to moderate',
    'user or supervisor',
    'ask_user',
    'Shows the readings and waits for one to be chosen.',
    'AMBIGUOUS_INTENT',
  ),
  low_confidence: row(
    'moderate',
    'specialist model or review queue',
    'review',
    'Handed to a stronger verifier or to a reviewer.',
    'LOW_CONFIDENCE',
  ),
  tool_failure: row(
    'moderate',
    'local repair or another tool',
    'degraded',
    'Tried again within the budget, then another way, then a degraded result.',
    'REPEATED_FAILURE',
  ),
  budget_reached: row(
    'moderate to high',
    'budget approval queue',
    'human_approval',
    'Frozen until somebody releases more.',
    'BUDGET_EXHAUSTED',
  ),
  provider_outage: row(
    'moderate to high',
    'SRE or degraded mode',
    'degraded',
    'Another provider, or a clean word that nothing is available.',
    'UNAVAILABLE_DEP',
  ),
  security_breach: row(
    'high',
    'security operations',
    'fail_closed',
    'The run is stopped and its trace kept.',
    'UNSAFE_DETECTION',
  ),
  repeated_denial: row(
    'moderate to high',
    'security or compliance',
    'fail_closed',
    'Further privileged attempts are blocked, and the trace is looked at.',
    'PERMISSION_DENIED',
  ),
} as const satisfies { readonly [id: string]: EscalationRow };
export type EscalationId = keyof typeof ESCALATIONS;

function row(
  severity: EscalationRow['severity'],
  endpoint: string,
  route: Route,
  recovery: string,
  code: TerminalCode,
): EscalationRow {
  return { severity, endpoint, route, recovery, code };
}
