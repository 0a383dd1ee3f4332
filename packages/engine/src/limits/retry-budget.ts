/**
 * The retry budget of a store: a token bucket. Each call adds `share` of a token, up to `burst`; each retry takes one. In an
 * outage the retries that no document declares stay a small share of the calls of all runs.
 */
import type { Instant, RetryBudgetRules } from '@sluice-internal/kernel/ir';

export const RETRY_BUDGET_KEY = 'retry_budget';
/** The budget of scripted calls. */
export const SCRIPTED_BUDGET_KEY = 'retry_budget.scripted';

export interface BudgetState {
  readonly tokens: number;
  readonly share: number;
  readonly burst: number;
  readonly calls: number;
  readonly retries: number;
  readonly denied: number;
  readonly lastRetryAt: Instant;
}

/** After this long without a retry the bucket is full again: the outage is over. */
const QUIET_MS = 600_000;

/** Adds calls, then takes a token for one retry. A retry that `asks` needs one; a retry that `takes` is made without one too. */
export function spend(
  before: BudgetState | null,
  { share, burst }: RetryBudgetRules,
  calls: number,
  retry: 'asks' | 'takes',
  now: Instant,
): { readonly state: BudgetState; readonly granted: boolean } {
  const known = before ?? { tokens: burst, share, burst, calls: 0, retries: 0, denied: 0, lastRetryAt: now };
  const isQuiet = now - known.lastRetryAt >= QUIET_MS;
  const tokens = isQuiet ? burst : Math.min(burst, known.tokens + calls * share);
  const granted = retry === 'takes' || tokens >= 1 - ROUNDING;
  return {
    granted,
    state: {
      share,
      burst,
      tokens: granted ? Math.max(0, tokens - 1) : tokens,
      calls: known.calls + calls,
      retries: known.retries + (granted ? 1 : 0),
      denied: known.denied + (granted ? 0 : 1),
      lastRetryAt: now,
    },
  };
}

/** Sums of shares such as 0.15 are not exact. */
const ROUNDING = 1e-9;
