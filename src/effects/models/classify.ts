/**
 * What a provider's error means for the run. The types are those of scripted failures, so that a flow that was rehearsed
 * takes the same way; only what no retry can mend has a type of its own.
 */
import type { Failure, Instant } from '../../ir/events.ts';
import { PerformError, failureOf } from '../../runtime/failures.ts';
import { errorFacts } from './error-facts.ts';
import type { ErrorFacts } from './error-facts.ts';
import { redactText } from '../redact.ts';
import { retryAfterMs } from './retry-after.ts';
import type { Target } from './target.ts';

const MESSAGE_MAX = 500;

const TOO_LONG =
  /context_length_exceeded|context_window|prompt is too long|maximum context length|request_too_large|input token count .*exceeds|too many (input )?tokens/;
const NO_QUOTA = /insufficient_quota|billing_error|billing_hard_limit|credit balance is too low/;
const BLOCKED = /content_filter|content_policy|responsibleai|content-filter|prompt_blocked|refusal/;
const NO_ACCESS =
  /authentication_error|permission_error|permission_denied|unauthenticated|invalid_api_key|api_key_invalid|unauthorized/;
const TOO_FAST = /rate_limit|resource_exhausted|too_many_requests/;
const NOT_THERE = /model_not_found|not_found_error/;
const BUSY = /overloaded|server_error|api_error|internal|unavailable|timeout/;

export function classify(error: unknown, target: Target, now: Instant): Failure {
  const own = ownFailure(error);
  if (own !== undefined) return own;
  const facts = errorFacts(error);
  const { status = 0, headers, body, labels } = facts;
  const hints = `${labels} ${facts.message.toLowerCase()}`;
  const say = (kind: Failure['class'], type: string, lead = target.name): Failure => ({
    class: kind,
    type,
    message: sentence(lead, facts, target),
  });
  if (facts.aborted) return say('timeout', 'TimeoutError');
  if (status === 413 || TOO_LONG.test(hints)) return say('fatal', 'ContextLengthError');
  if (BLOCKED.test(labels)) return say('refused', 'RefusalError');
  if (NO_QUOTA.test(hints)) return say('fatal', 'QuotaError');
  if (status === 401 || status === 403 || NO_ACCESS.test(labels))
    return say('fatal', 'AuthenticationError', noAccess(target));
  if (status === 429 || TOO_FAST.test(labels))
    return waiting(say('rate_limit', 'RateLimitError'), retryAfterMs(headers, body, now));
  if (status >= 500 || status === 408 || status === 409 || status === 425)
    return waiting(say('transient', 'TransientError'), retryAfterMs(headers, body, now));
  if (facts.disconnected || facts.malformed || (status >= 200 && status < 300))
    return say('transient', 'TransientError');
  if (status === 404 || NOT_THERE.test(labels)) return say('fatal', 'ModelNotFoundError');
  if (status >= 300) return say('fatal', 'RequestError');
  if (BUSY.test(labels) || facts.retryable === true || !isDeliberate(facts)) return say('transient', 'TransientError');
  return say('fatal', facts.name.replace(/^AI_/, ''));
}

/** Whether somebody meant to say that this cannot work. Whatever else a package trips over lies in one answer. */
function isDeliberate({ name, labels, retryable }: ErrorFacts): boolean {
  return name.startsWith('AI_') || labels !== '' || retryable === false;
}

/** A failure of ours, however deep a package has wrapped it. */
function ownFailure(error: unknown): Failure | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < 8; depth++, each = each.cause)
    if (each instanceof PerformError) return failureOf(each);
  return undefined;
}

function sentence(lead: string, { status, message, malformed, disconnected }: ErrorFacts, { key }: Target): string {
  const said = disconnected
    ? `the connection failed: ${message}`
    : malformed
      ? `the answer cannot be read: ${message}`
      : message;
  const line = redactText(`${lead}: ${status === undefined ? '' : `${status} `}${said}`, key)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX - 1)}…` : line;
}

function noAccess({ provider, name, keyFrom }: Target): string {
  return keyFrom === undefined
    ? `${provider} wants a key for ${name}`
    : `${provider} does not accept the key in ${keyFrom} for ${name}`;
}

function waiting(failure: Failure, ms: number | undefined): Failure {
  return ms === undefined ? failure : { ...failure, retryAfterMs: ms };
}
