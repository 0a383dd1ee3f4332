/**
 * The circuit breaker as a pure state machine. It counts failures in a row and their share of recent calls; at a threshold it opens. After the cooldown one
 * call probes: if it succeeds the breaker closes, if it fails the breaker opens again. After too many trips in a row the cooldown
 * grows with each trip. A breaker that an operator has opened stays open until an operator closes it.
 */
import type { BreakerCause, BreakerRules, BreakerStatus, Instant, ProtectionNote } from '@sluice-internal/kernel/ir';
import { countCall, rateCause } from './failure-rate.ts';
import type { Counted, RatePart } from './failure-rate.ts';

export interface BreakerState {
  readonly status: BreakerStatus;
  readonly since: Instant;
  /** Trips in a row, without a successful probe in between. */
  readonly trips: number;
  readonly providerErrors: number;
  readonly schemaFailures: number;
  /** Results in a row that broke an invariant. A reply that fits its schema does not end the row; a result that passes does. */
  readonly violations: number;
  /** The call of the last schema failure: a repair of the same call is not another failure. */
  readonly schemaCall: string | null;
  /** Recent calls, for the share that failed. Empty until a call fails. */
  readonly rate: readonly RatePart[];
  readonly cause: BreakerCause | null;
  readonly cooldownMs: number;
  readonly maxTrips: number;
  /** The person who opened it by hand. */
  readonly by: string | null;
  /** The call that probes now. */
  readonly probe: { readonly call: string; readonly at: Instant } | null;
}

export const CLOSED: BreakerState = {
  status: 'closed',
  since: 0,
  trips: 0,
  providerErrors: 0,
  schemaFailures: 0,
  violations: 0,
  schemaCall: null,
  rate: [],
  cause: null,
  cooldownMs: 30_000,
  maxTrips: 3,
  by: null,
  probe: null,
};

/** A probe that has not returned for this long counts as lost, for example because its process ended. */
const PROBE_MAX_MS = 300_000;

type Change = Extract<ProtectionNote, { type: 'breaker.changed' }>;
export interface Step {
  readonly state: BreakerState;
  readonly change: Omit<Change, 'type' | 'breaker'> | null;
}

/** The longest grown cooldown. A longer one that a document declares stays as it is. */
const COOLDOWN_MAX_MS = 3_600_000;

/** The time from which a call may probe; null if only an operator closes the breaker. */
export function probeAt({ status, since, cooldownMs, trips, maxTrips, by }: BreakerState): Instant | null {
  if (status === 'closed' || by !== null) return null;
  const grown = cooldownMs * 2 ** Math.max(0, trips + 1 - maxTrips);
  return since + Math.max(cooldownMs, Math.min(grown, COOLDOWN_MAX_MS));
}

/** Admits a call. `allowed` is false while the breaker is open. A call that probes makes it half open. */
export function enter(state: BreakerState, call: string, now: Instant): Step & { readonly allowed: boolean } {
  if (state.status === 'closed') return { state, change: null, allowed: true };
  const at = probeAt(state);
  if (at === null) return { state, change: null, allowed: false };
  if (state.status === 'half_open') {
    const isLost = state.probe === null || state.probe.call === call || now - state.probe.at > PROBE_MAX_MS;
    return { state: isLost ? { ...state, probe: { call, at: now } } : state, change: null, allowed: isLost };
  }
  if (now < at) return { state, change: null, allowed: false };
  return { ...moved(state, 'half_open', 'cooldown', now, { probe: { call, at: now } }), allowed: true };
}

export type Outcome =
  | 'ok'
  | 'provider_error'
  | 'schema_failure'
  /** A reply that does not fit its schema and is sent back for repair. */
  | 'unfit'
  | 'identical_calls'
  | 'invariant_kept'
  | 'invariant_violation'
  | 'neither';

/** Counts the result of a call. */
export function leave(state: BreakerState, rules: BreakerRules, call: string, outcome: Outcome, now: Instant): Step {
  const known = { ...state, cooldownMs: rules.cooldownMs, maxTrips: rules.maxTrips };
  if (state.status === 'half_open') return probed(known, call, outcome, now);
  const counted = { ...count(known, call, outcome), rate: rateAfter(state, rules, outcome, now) };
  if (state.status === 'open') return { state: known, change: null };
  const cause = tripCause(counted, rules, outcome);
  if (cause === null) return { state: counted, change: null };
  // Without a fallback a soft failure is only recorded: the call itself got through.
  if (cause !== 'provider_errors' && cause !== 'provider_rate' && rules.fallback === null)
    return {
      state: { ...counted, schemaFailures: 0, violations: 0, rate: [] },
      change: { from: 'closed', to: 'open', cause, trips: state.trips + 1, until: null, enforced: false },
    };
  return moved(counted, 'open', cause, now, { trips: state.trips + 1, cause, rate: [] });
}

/** An operator opens or closes the breaker. */
export function setByHand(state: BreakerState, to: 'open' | 'closed', by: string, now: Instant): BreakerState {
  if (to === 'closed') return { ...CLOSED, cooldownMs: state.cooldownMs, maxTrips: state.maxTrips, since: now };
  return { ...state, status: 'open', since: now, cause: 'operator', by, probe: null };
}

function probed(state: BreakerState, call: string, outcome: Outcome, now: Instant): Step {
  // The result of a call that began before the breaker opened.
  if (state.probe?.call !== call) return { state, change: null };
  // The repair of the reply decides.
  if (outcome === 'unfit') return { state, change: null };
  if (outcome === 'ok' || outcome === 'neither')
    return moved(state, 'closed', 'probe_succeeded', now, {
      trips: 0,
      providerErrors: 0,
      schemaFailures: 0,
      violations: 0,
      cause: null,
      probe: null,
    });
  return moved(state, 'open', 'probe_failed', now, { trips: state.trips + 1, probe: null });
}

function count(state: BreakerState, call: string, outcome: Outcome): BreakerState {
  switch (outcome) {
    case 'ok':
      return { ...state, providerErrors: 0, schemaFailures: 0, schemaCall: null };
    case 'provider_error':
      return { ...state, providerErrors: state.providerErrors + 1 };
    case 'unfit':
    case 'schema_failure': {
      const again = state.schemaCall === call ? 0 : 1;
      return { ...state, providerErrors: 0, schemaFailures: state.schemaFailures + again, schemaCall: call };
    }
    case 'identical_calls':
      return { ...state, providerErrors: 0, schemaFailures: 0 };
    case 'invariant_violation':
      return { ...state, violations: state.violations + 1 };
    case 'invariant_kept':
      return { ...state, violations: 0 };
    case 'neither':
      return state;
  }
}

/** A reply that is repaired counts with its repair, and a verdict on a result only if it is a violation. */
function rateAfter(
  { rate }: BreakerState,
  { rate: rules }: BreakerRules,
  outcome: Outcome,
  now: Instant,
): readonly RatePart[] {
  const counted = COUNTED[outcome];
  return rules === undefined || rules === null || counted === null ? rate : countCall(rate, rules, counted, now);
}
const COUNTED: { readonly [outcome in Outcome]: Counted | null } = {
  ok: 'ok',
  provider_error: 'error',
  schema_failure: 'soft',
  unfit: null,
  identical_calls: 'soft',
  invariant_violation: 'soft',
  invariant_kept: null,
  neither: null,
};

function tripCause(state: BreakerState, rules: BreakerRules, outcome: Outcome): BreakerCause | null {
  if (outcome === 'provider_error' && state.providerErrors >= rules.providerErrors) return 'provider_errors';
  if (outcome === 'schema_failure' && state.schemaFailures >= rules.schemaFailures) return 'schema_failures';
  // An earlier call reached the limit: the reply of this one could not be repaired.
  if (outcome === 'unfit') return state.schemaFailures > rules.schemaFailures ? 'schema_failures' : null;
  if (outcome === 'invariant_violation' && state.violations >= rules.schemaFailures) return 'invariant_violations';
  if (outcome === 'identical_calls') return 'identical_calls';
  const { rate = null } = rules;
  return rate === null || outcome === 'ok' ? null : rateCause(state.rate, rate);
}

function moved(
  state: BreakerState,
  to: BreakerStatus,
  cause: Change['cause'],
  now: Instant,
  fields: Partial<BreakerState>,
): Step {
  const next: BreakerState = { ...state, ...fields, status: to, since: now };
  const change = { from: state.status, to, cause, trips: next.trips, until: probeAt(next), enforced: true };
  return { state: next, change };
}
