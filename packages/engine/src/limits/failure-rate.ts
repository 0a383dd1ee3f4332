/**
 * The share of failed calls in a rolling window, in ten parts of equal length. Counting starts with the first failure, so that a
 * healthy breaker is never written.
 */
import type { Instant, RateRules } from '@sluice-internal/kernel/ir';

/** Calls of one part of the window. `soft`: the reply came, but it was not usable. */
export interface RatePart {
  readonly from: Instant;
  readonly calls: number;
  readonly errors: number;
  readonly soft: number;
}

export type Counted = 'ok' | 'error' | 'soft';

export function countCall(
  parts: readonly RatePart[],
  rules: RateRules,
  outcome: Counted,
  now: Instant,
): readonly RatePart[] {
  const known = withinWindow(parts, rules, now);
  if (known.length === 0 && outcome === 'ok') return [];
  const last = known.at(-1);
  const isSamePart = last !== undefined && now - last.from < rules.windowMs / PARTS;
  const before = isSamePart ? last : { from: now, calls: 0, errors: 0, soft: 0 };
  const part = {
    from: before.from,
    calls: before.calls + 1,
    errors: before.errors + (outcome === 'error' ? 1 : 0),
    soft: before.soft + (outcome === 'soft' ? 1 : 0),
  };
  return [...(isSamePart ? known.slice(0, -1) : known), part];
}
const PARTS = 10;

/** The cause for which the breaker opens; null while the shares are below their limits. */
export function rateCause(parts: readonly RatePart[], rules: RateRules): 'provider_rate' | 'soft_rate' | null {
  const sum = (field: 'calls' | 'errors' | 'soft'): number => parts.reduce((total, part) => total + part[field], 0);
  const calls = sum('calls');
  if (calls < rules.calls) return null;
  if (sum('errors') >= rules.errors * calls) return 'provider_rate';
  return sum('soft') >= rules.soft * calls ? 'soft_rate' : null;
}

export function withinWindow(parts: readonly RatePart[], { windowMs }: RateRules, now: Instant): readonly RatePart[] {
  return parts.filter(({ from }) => now - from < windowMs);
}
