/** The wait that the headers of a response ask for: `Retry-After` in seconds or as a date, or `retry-after-ms`. */
import type { Instant } from '@sluice-internal/kernel/ir';

const WAIT_MAX_MS = 3_600_000;

export type ResponseHeaders = { readonly [name: string]: string | undefined };

/** Milliseconds, one hour at most; undefined if the headers ask for no wait. */
export function retryAfterMs(headers: ResponseHeaders, now: Instant): number | undefined {
  const asked = numberIn(headers['retry-after-ms']) ?? fromSecondsOrDate(headers['retry-after'], now);
  return asked === undefined ? undefined : boundedWait(asked);
}

export function boundedWait(ms: number): number {
  return Math.min(WAIT_MAX_MS, Math.max(0, Math.ceil(ms)));
}

function fromSecondsOrDate(value: string | undefined, now: Instant): number | undefined {
  const seconds = numberIn(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : date - now;
}

function numberIn(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}
