/** What other packages use of `engine/limits`. */
export { probeAt, setByHand } from './breaker.ts';
export type { BreakerState } from './breaker.ts';
export { BREAKER_PREFIX, SCRIPTED_PREFIX } from './guard.ts';
export { stateOf } from './operations.ts';
export type { Operate } from './operations.ts';
export { EVERY_TENANT, QUOTA_PREFIX, USE_PREFIX, setQuota, storedUse } from './quotas.ts';
export { RETRY_BUDGET_KEY, SCRIPTED_BUDGET_KEY } from './retry-budget.ts';
export type { BudgetState } from './retry-budget.ts';
