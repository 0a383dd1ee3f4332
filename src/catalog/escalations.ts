/**
 * The escalation table: who takes over when a run may not continue alone. A question names its row, which tells the person the
 * severity, the owner and the state of the run meanwhile. For a run that ended, the code gives the row.
 */
import type { TerminalCode } from '../ir/codes.ts';

export const ROUTES = ['fail_closed', 'human_approval', 'ask_user', 'review', 'degraded'] as const;
type Route = (typeof ROUTES)[number];

export interface EscalationRow {
  readonly severity: 'low' | 'low to moderate' | 'moderate' | 'moderate to high' | 'high';
  readonly endpoint: string;
  readonly route: Route;
  /** The state of the run while it waits. */
  readonly recovery: string;
  /** The code while the run waits; also its terminal code if it cannot wait. */
  readonly code: TerminalCode;
  /** The fields that the question must show. */
  readonly shows: readonly string[];
}

export const ESCALATIONS = {
  high_impact_mutation: row(
    'high',
    'user or operator',
    'human_approval',
    'Shows the action, its arguments, what it touches and how to take it back.',
    'CONFIRM_REQUIRED',
    ['tool', 'args', 'touches', 'rollback'],
  ),
  financial_commitment: row(
    'high',
    'manager or procurement',
    'human_approval',
    'Frozen until the budget and the approval chain are confirmed.',
    'CONFIRM_REQUIRED',
    ['tool', 'args', 'amount', 'payee', 'budget', 'agreed'],
  ),
  external_communication: row(
    'moderate to high',
    'user',
    'human_approval',
    'A draft only; sent after an explicit yes.',
    'CONFIRM_REQUIRED',
    ['tool', 'args', 'recipients', 'draft'],
  ),
  missing_input: row('low', 'user', 'ask_user', 'Waits for the field that is missing.', 'MISSING_INFO', ['fields']),
  ambiguous_goal: row(
    'low to moderate',
    'user or supervisor',
    'ask_user',
    'Shows the readings and waits for one to be chosen.',
    'AMBIGUOUS_INTENT',
    ['readings'],
  ),
  low_confidence: row(
    'moderate',
    'specialist model or review queue',
    'review',
    'Handed to a stronger verifier or to a reviewer.',
    'LOW_CONFIDENCE',
    ['problem', 'observations'],
  ),
  tool_failure: row(
    'moderate',
    'local repair or another tool',
    'degraded',
    'Tried again within the budget, then another way, then a degraded result.',
    'REPEATED_FAILURE',
    ['tool', 'args', 'problem'],
  ),
  budget_reached: row(
    'moderate to high',
    'budget approval queue',
    'human_approval',
    'Frozen until a person grants more.',
    'BUDGET_EXHAUSTED',
    ['short', 'budget'],
  ),
  provider_outage: row(
    'moderate to high',
    'SRE or degraded mode',
    'degraded',
    'Another provider, or a clean word that nothing is available.',
    'UNAVAILABLE_DEP',
    ['tool', 'args', 'problem'],
  ),
  security_breach: row(
    'high',
    'security operations',
    'fail_closed',
    'The run is stopped and its trace kept.',
    'UNSAFE_DETECTION',
    [],
  ),
  repeated_denial: row(
    'moderate to high',
    'security or compliance',
    'fail_closed',
    'Further privileged attempts are blocked, and the trace is looked at.',
    'PERMISSION_DENIED',
    ['tool', 'args', 'problem'],
  ),
} as const satisfies { readonly [id: string]: EscalationRow };
export type EscalationId = keyof typeof ESCALATIONS;

/** A row as questions and reports carry it. */
export interface Escalation extends Pick<EscalationRow, 'severity' | 'endpoint' | 'route' | 'recovery'> {
  readonly row: EscalationId;
}

export function escalationOf(row: EscalationId): Escalation {
  const { severity, endpoint, route, recovery } = ESCALATIONS[row];
  return { row, route, severity, endpoint, recovery };
}

interface Ended {
  readonly code: TerminalCode;
  readonly error: { readonly class: string; readonly type: string } | null;
  /** The failure is that of a model call. */
  readonly ofModel: boolean;
}

/** The escalation for a failed run; null if no person has to take over. */
export function escalationOfEnd({ code, error, ofModel }: Ended): Escalation | null {
  // A person has decided.
  if (error?.type === 'ApprovalRejectedError') return null;
  const isDown = ofModel && (error?.class === 'transient' || error?.class === 'rate_limit');
  const row = isDown ? 'provider_outage' : ENDINGS[code];
  return row === undefined ? null : escalationOf(row);
}

const ENDINGS: { readonly [code in TerminalCode]?: EscalationId } = {
  MISSING_INFO: 'missing_input',
  AMBIGUOUS_INTENT: 'ambiguous_goal',
  CONFIRM_REQUIRED: 'high_impact_mutation',
  REVIEW_REQUIRED: 'low_confidence',
  BUDGET_EXHAUSTED: 'budget_reached',
  TIMEOUT: 'budget_reached',
  VALIDATION_FAIL: 'low_confidence',
  LOW_CONFIDENCE: 'low_confidence',
  SOURCE_CONFLICT: 'low_confidence',
  REPEATED_FAILURE: 'tool_failure',
  PERMISSION_DENIED: 'repeated_denial',
  UNSAFE_DETECTION: 'security_breach',
  UNAVAILABLE_DEP: 'provider_outage',
};

function row(
  severity: EscalationRow['severity'],
  endpoint: string,
  route: Route,
  recovery: string,
  code: TerminalCode,
  shows: readonly string[],
): EscalationRow {
  return { severity, endpoint, route, recovery, code, shows };
}
