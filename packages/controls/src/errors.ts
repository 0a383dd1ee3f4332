/** The errors of calls that are not made. */
import type { RefusalError } from '@sluice-internal/kernel/ir';

export const ARGUMENTS: RefusalError = { type: 'ArgumentError', class: 'semantic', code: 'VALIDATION_FAIL' };
export const PERMISSION: RefusalError = { type: 'PermissionError', class: 'policy', code: 'PERMISSION_DENIED' };
export const BUDGET: RefusalError = { type: 'BudgetError', class: 'budget', code: 'BUDGET_EXHAUSTED' };
export const RATE: RefusalError = { type: 'RateLimitError', class: 'rate_limit', code: 'UNAVAILABLE_DEP' };
export const UNTRUSTED: RefusalError = {
  type: 'UntrustedArgumentsError',
  class: 'guardrail',
  code: 'UNSAFE_DETECTION',
};
export const CLOSED: RefusalError = { type: 'FailClosedError', class: 'guardrail', code: 'UNSAFE_DETECTION' };
export const REJECTED: RefusalError = { type: 'ApprovalRejectedError', class: 'policy', code: 'PERMISSION_DENIED' };
export const UNAPPROVABLE: RefusalError = { type: 'ApprovalRequiredError', class: 'policy', code: 'PERMISSION_DENIED' };
