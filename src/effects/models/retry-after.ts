/** How long a provider asks to be left alone: in its headers, or, as some do, in the body of the error. */
import type { Instant } from '../../ir/events.ts';

/** Whoever asks for more than an hour is not waited for any longer than that. */
const WAIT_MAX_MS = 3_600_000;

export function retryAfterMs(
  headers: { readonly [name: string]: string | undefined },
  body: string,
  now: Instant,
): number | undefined {
  const asked = fromMs(headers['retry-after-ms']) ?? fromSecondsOrDate(headers['retry-after'], now) ?? fromBody(body);
  return asked === undefined ? undefined : Math.min(WAIT_MAX_MS, Math.max(0, Math.ceil(asked)));
}

function fromMs(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}

function fromSecondsOrDate(value: string | undefined, now: Instant): number | undefined {
  const seconds = fromMs(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : date - now;
}

/** As in `"retryDelay": "34.5s"`. */
function fromBody(body: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
