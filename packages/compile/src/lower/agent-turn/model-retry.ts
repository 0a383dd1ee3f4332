/** How often a model call is repeated, unless the document says otherwise. */
import type { FailureClass, Retry } from '@sluice-internal/kernel/ir';

export const MODEL_RETRY: Retry = {
  max: 2,
  baseMs: 500,
  capMs: 30_000,
  on: ['transient', 'rate_limit', 'timeout'] satisfies readonly FailureClass[],
  budgeted: true,
};

/** Another number of retries. The retry budget never refuses those that the document declares. */
export function modelRetry(max: number, declared: boolean): Retry {
  const { budgeted: _, ...own } = MODEL_RETRY;
  return declared ? { ...own, max } : { ...MODEL_RETRY, max };
}
