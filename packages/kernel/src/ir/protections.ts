/**
 * The vocabulary of protections: the eight kinds of failure, the three tiers, the recovery actions, and the rules of
 * protections whose state all runs of a store share.
 */
import type { FailureClass } from './codes.ts';

export const FAILURE_KINDS = [
  'tool_loop',
  'deadlock',
  'cost_overrun',
  'provider_error',
  'schema_or_grounding',
  'malformed_plan',
  'no_progress',
  'unsafe_output',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export const TIERS = ['interactive', 'batch', 'regulated'] as const;
export type Tier = (typeof TIERS)[number];

export type RecoveryAction = 'retry' | 'replan' | 'fallback' | 'escalate' | 'abort' | 'surface' | 'block';

/** A failure mode of the MAST taxonomy. */
export type MastId = `FM-1.${1 | 2 | 3 | 4 | 5}` | `FM-2.${1 | 2 | 3 | 4 | 5 | 6}` | `FM-3.${1 | 2 | 3}`;

/** A recovery decision: the kind of failure, the action, and the failure mode of the MAST taxonomy (`FM-1.3`). */
export interface Decision {
  readonly failure: FailureKind;
  readonly action: RecoveryAction;
  readonly mast: MastId | null;
  /** Present if the decision is announced to an operator. */
  readonly notice?: Notice;
}
/** An `alert` is for information. A `ticket` needs work. */
export type Notice = 'alert' | 'ticket';

/** The four ways in which a failed step can recover. */
export type RecoveryClass = 'transient' | 'semantic' | 'policy' | 'budget';

/** The way in which a failure of this class recovers. A timeout counts as a used-up budget. */
export function recoveryClassOf(failure: FailureClass): RecoveryClass {
  return CLASSES[failure];
}

const CLASSES: { readonly [failure in FailureClass]: RecoveryClass } = {
  transient: 'transient',
  rate_limit: 'transient',
  timeout: 'transient',
  fatal: 'transient',
  refused: 'policy',
  semantic: 'semantic',
  policy: 'policy',
  guardrail: 'policy',
  budget: 'budget',
};

/** The circuit breaker of an agent and a model. Counts are of calls in a row; null switches a condition off. */
export interface BreakerRules {
  readonly identicalCalls: number;
  readonly schemaFailures: number;
  readonly providerErrors: number;
  readonly rate?: RateRules | null;
  readonly cooldownMs: number;
  /** From this many trips in a row on, the cooldown doubles with each trip, up to an hour. */
  readonly maxTrips: number;
  /** While it is open: another model, a fixed answer, or a question to a person. Null: the call fails at once. */
  readonly fallback: { readonly model: string } | { readonly answer: string } | { readonly escalate: true } | null;
}

/** The share of failed calls that opens a breaker: of at least `calls` calls in the window, `errors` failed or `soft` were not usable. */
export interface RateRules {
  readonly errors: number;
  readonly soft: number;
  readonly calls: number;
  readonly windowMs: number;
}

/** The check that reports to the breaker of an agent if its result kept the invariants: `{ agent, ok }`. */
export const VERDICT_CHECK = 'breaker:verdict';

/** The check that takes one token of the retry budget before several calls are repeated together, as the document declares: `{ name }`. */
export const RETRY_CHECK = 'retry:token';

/** The retry budget: each call adds `share` of a token, up to `burst` tokens; each retry takes one. */
export interface RetryBudgetRules {
  readonly share: number;
  readonly burst: number;
}
export const DEFAULT_RETRY_BUDGET: RetryBudgetRules = { share: 0.15, burst: 10 };

/** Protections whose state all runs of a store share. Null: switched off. Absent: the default. */
export interface SharedProtections {
  readonly breaker?: BreakerRules | null;
  readonly retryBudget?: RetryBudgetRules | null;
}

/** How often a call that was in flight at a crash is made again, if its node does not say. */
export const RECALLS_MAX = 3;
