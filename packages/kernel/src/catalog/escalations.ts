/**
 * The escalation table: the person who takes over if a run may not continue alone. A question shows the severity, the owner and
 * the state of the run from its row. For a run that ended, the code gives the row.
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
  high_impact_mutation: {
    severity: 'high',
    endpoint: 'user or operator',
    route: 'human_approval',
    recovery: 'Shows the action, its arguments, what it touches and how to take it back.',
    code: 'CONFIRM_REQUIRED',
    shows: ['tool', 'args', 'touches', 'rollback'],
  },
  financial_commitment: {
    severity: 'high',
    endpoint: 'manager or procurement',
    route: 'human_approval',
    recovery: 'Frozen until the budget and the approval chain are confirmed.',
    code: 'CONFIRM_REQUIRED',
    shows: ['tool', 'args', 'amount', 'payee', 'budget', 'agreed'],
  },
  external_communication: {
    severity: 'moderate to high',
    endpoint: 'user',
    route: 'human_approval',
    recovery: 'A draft only; sent after an explicit yes.',
    code: 'CONFIRM_REQUIRED',
    shows: ['tool', 'args', 'recipients', 'draft'],
  },
  repeated_effect: {
    severity: 'high',
    endpoint: 'user or operator',
    route: 'human_approval',
    recovery: 'Shows the earlier call with its result, and waits for a yes to the second one.',
    code: 'CONFIRM_REQUIRED',
    shows: ['tool', 'args'],
  },
  missing_input: {
    severity: 'low',
    endpoint: 'user',
    route: 'ask_user',
    recovery: 'Waits for the field that is missing.',
    code: 'MISSING_INFO',
    shows: ['fields'],
  },
  ambiguous_goal: {
    severity: 'low to moderate',
    endpoint: 'user or supervisor',
    route: 'ask_user',
    recovery: 'Shows the readings and waits for one to be chosen.',
    code: 'AMBIGUOUS_INTENT',
    shows: ['readings'],
  },
  low_confidence: {
    severity: 'moderate',
    endpoint: 'specialist model or review queue',
    route: 'review',
    recovery: 'Handed to a stronger verifier or to a reviewer.',
    code: 'LOW_CONFIDENCE',
    shows: ['problem', 'observations'],
  },
  tool_failure: {
    severity: 'moderate',
    endpoint: 'local repair or another tool',
    route: 'degraded',
    recovery: 'Tried again within the budget, then another way, then a degraded result.',
    code: 'REPEATED_FAILURE',
    shows: ['tool', 'args', 'problem'],
  },
  budget_reached: {
    severity: 'moderate to high',
    endpoint: 'budget approval queue',
    route: 'human_approval',
    recovery: 'Frozen until a person grants more.',
    code: 'BUDGET_EXHAUSTED',
    shows: ['short', 'budget'],
  },
  provider_outage: {
    severity: 'moderate to high',
    endpoint: 'SRE or degraded mode',
    route: 'degraded',
    recovery: 'Another provider, or a clean word that nothing is available.',
    code: 'UNAVAILABLE_DEP',
    shows: ['tool', 'args', 'problem'],
  },
  security_breach: {
    severity: 'high',
    endpoint: 'security operations',
    route: 'fail_closed',
    recovery: 'The run is stopped and its trace kept.',
    code: 'UNSAFE_DETECTION',
    shows: [],
  },
  repeated_denial: {
    severity: 'moderate to high',
    endpoint: 'security or compliance',
    route: 'fail_closed',
    recovery: 'Further privileged attempts are blocked, and the trace is looked at.',
    code: 'PERMISSION_DENIED',
    shows: ['tool', 'args', 'problem'],
  },
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
