/**
 * Classifies an error of a provider as a failure of the run. Errors that a retry can solve have the same types as scripted
 * failures, so a flow that was tested with a script takes the same route with a real model.
 */
import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { parsedJson } from '@sluice-internal/kernel/expr';
import type { Failure, Instant } from '@sluice-internal/kernel/ir';
import { PerformError, failureOf } from '@sluice-internal/engine/ports';
import { boundedWait, isUnopened, redactText, retryAfterMs } from '@sluice-internal/platform';
import type { ResponseHeaders } from '@sluice-internal/platform';
import { StreamError, tokenUsage } from './reply.ts';
import type { Target } from './target.ts';

const MESSAGE_MAX = 500;
const CAUSES_MAX = 8;

/** The type of a failure, by the first rule that matches. */
const RULES: readonly (readonly [type: string, when: (facts: ErrorFacts) => boolean])[] = [
  ['TimeoutError', ({ aborted }) => aborted],
  // A rate limit counts tokens too: "Too many tokens, please wait before trying again."
  ['ContextLengthError', ({ status, hints }) => status === 413 || (status !== 429 && TOO_LONG.test(hints))],
  ['RefusalError', ({ labels }) => BLOCKED.test(labels)],
  ['QuotaError', ({ hints }) => NO_QUOTA.test(hints)],
  ['AuthenticationError', ({ status, labels }) => status === 401 || status === 403 || NO_ACCESS.test(labels)],
  ['RateLimitError', ({ status, labels }) => status === 429 || TOO_FAST.test(labels)],
  ['TransientError', ({ status }) => status >= 500 || status === 408 || status === 409 || status === 425],
  // A page for people: the address is wrong, so a retry does not help.
  ['RequestError', ({ malformed, headers }) => malformed && PAGE.test(headers['content-type'] ?? '')],
  ['TransientError', ({ disconnected, malformed, status }) => disconnected || malformed || isSuccess(status)],
  ['ModelNotFoundError', ({ status, labels }) => status === 404 || NOT_FOUND.test(labels)],
  ['RequestError', ({ status }) => status >= 300],
  ['TransientError', ({ labels, retryable, deliberate }) => BUSY.test(labels) || retryable === true || !deliberate],
];

/** Failures of any other type are fatal. */
const CLASSES: { readonly [type: string]: Failure['class'] } = {
  TimeoutError: 'timeout',
  RefusalError: 'refused',
  RateLimitError: 'rate_limit',
  TransientError: 'transient',
};

const TOO_LONG =
  /context_length_exceeded|context_window|prompt is too long|maximum context length|request_too_large|input token count .*exceeds|too many (input )?tokens/;
const NO_QUOTA = /insufficient_quota|billing_error|billing_hard_limit|credit balance is too low/;
const BLOCKED = /content_filter|content_policy|responsibleai|content-filter|prompt_blocked|refusal/;
const NO_ACCESS =
  /authentication_error|permission_error|permission_denied|unauthenticated|invalid_api_key|api_key_invalid|unauthorized/;
const TOO_FAST = /rate_limit|resource_exhausted|too_many_requests/;
const NOT_FOUND = /model_not_found|not_found_error/;
const PAGE = /\bx?html\b/i;
const BUSY = /overloaded|server_error|api_error|internal|unavailable|timeout/;

export function classify(error: unknown, target: Target, now: Instant): Failure {
  const own = ownFailure(error);
  if (own !== undefined) return own;
  const facts = errorFacts(error);
  const [type] = RULES.find(([, when]) => when(facts)) ?? [facts.name.replace(/^AI_/, '')];
  const kind = CLASSES[type] ?? 'fatal';
  const lead = type === 'AuthenticationError' ? keyRefused(target) : target.name;
  const hint = hintOf(facts, type, target);
  const failure: Failure = { class: kind, type, message: `${messageOf(lead, facts, target)}${hint}` };
  if (kind !== 'rate_limit' && kind !== 'transient') return failure;
  const wait = waitOf(facts, now);
  const unmeasured = isLost(facts) ? { unmeasured: true as const } : {};
  const reached = !facts.disconnected && !facts.reported && (facts.malformed || isSuccess(facts.status));
  return {
    ...failure,
    ...unmeasured,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(reached || target.retries === 0 ? {} : { transportRetries: target.retries }),
  };
}

/** True if the request was sent and its reply was lost, in part or as a whole. The provider may charge for it. */
function isLost({ disconnected, unopened, reported, malformed, message, body }: ErrorFacts): boolean {
  if (disconnected) return !unopened;
  if (CUT.test(message)) return true;
  return malformed && !reported && !(body === '' && NO_BODY.test(message));
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True for a response that arrived but could not be parsed; false for a response that reports an error. */
export function isUnreadable(error: unknown): boolean {
  return causesOf(error).some(({ name }) => UNREADABLE.test(textIn(name) ?? ''));
}

/** A PerformError of this project, which packages may wrap as a cause. */
function ownFailure(error: unknown): Failure | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < CAUSES_MAX; depth++, each = each.cause)
    if (each instanceof PerformError) return failureOf(each);
  return undefined;
}

function messageOf(lead: string, facts: ErrorFacts, { secrets }: Target): string {
  const { status } = facts;
  const line = redactText(`${lead}: ${status === 0 ? '' : `${status} `}${reasonOf(facts)}`, secrets)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX - 1)}…` : line;
}

function reasonOf({ message, malformed, disconnected, reported, headers, rootMessage, body }: ErrorFacts): string {
  if (CUT.test(message)) return 'the reply is incomplete';
  if (reported) return message;
  if (disconnected) return `the connection failed: ${GENERIC.test(message) ? rootMessage : message}`;
  if (!malformed) return message;
  const type = (headers['content-type'] ?? '').split(';')[0] ?? '';
  const isOther = type !== '' && !/json|event-stream/.test(type);
  if (body === '' && NO_BODY.test(message)) return 'the response is empty';
  return `the response cannot be read: ${isOther ? `it is ${type} and not JSON; check the \`base_url\`` : message}`;
}

/** The AI SDK's message for a stream that ended before the reply did. */
const CUT = /^Response stream ended without a finish reason/;
/** The AI SDK's messages for a response without a body. */
const NO_BODY = /^(Invalid JSON response|Failed to process successful response|Empty response body)/;
/** The AI SDK's message for a body that broke off. The reason is in its cause. */
const GENERIC = /^Failed to process successful response/;

/** Many servers that speak the protocols of OpenAI have no Responses. */
function hintOf({ status }: ErrorFacts, type: string, { how, baseUrl }: Target): string {
  if (status >= 300 && status < 400) return '; redirects are not followed, so set `base_url` to the final address';
  const isMissing = type === 'ModelNotFoundError' || status === 405 || status === 501;
  if (!isMissing || how.protocol !== 'openai' || baseUrl === undefined) return '';
  return '; if the server has no `/responses`, use the provider `openai.chat`';
}

/** The text that Groq reports when a model wrote a tool call that cannot be read; undefined for any other error. */
export function failedToolCall(error: unknown): string | undefined {
  const causes = causesOf(error);
  // The AI SDK drops unknown fields, so the body comes first.
  const reports = [bodyIn(causes), firstOf(causes, 'data')].flatMap(errorObjects);
  const report = reports.find(({ code }) => code === 'tool_use_failed');
  return report === undefined ? undefined : (textIn(report['failed_generation']) ?? '');
}

/** The tokens that a response reports although it cannot be used. */
export function usageIn(error: unknown): LanguageModelV4Usage | null {
  const causes = causesOf(error instanceof StreamError ? error.cause : error);
  const given = [bodyIn(causes), firstOf(causes, 'data'), ...causes];
  const usage = given.flatMap((each) => (isFields(each) && isFields(each['usage']) ? [each['usage']] : []))[0];
  const input = usage?.['input_tokens'] ?? usage?.['prompt_tokens'];
  const output = usage?.['output_tokens'] ?? usage?.['completion_tokens'];
  if (typeof input !== 'number' || typeof output !== 'number') return null;
  return tokenUsage(input, output);
}

function keyRefused({ provider, name, keyFrom }: Target): string {
  return keyFrom === undefined
    ? `${provider} needs a key for ${name}`
    : `${provider} rejected the key in ${keyFrom} for ${name}`;
}

/** The delay that the provider asks for: from the headers, or from `"retryDelay": "34.5s"` in the body. */
function waitOf({ headers, body }: ErrorFacts, now: Instant): number | undefined {
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return retryAfterMs(headers, now) ?? (delay === undefined ? undefined : boundedWait(Number(delay) * 1000));
}

/** The facts of an error, collected from its causes, its response body and the provider's own error object. */
interface ErrorFacts {
  readonly name: string;
  /** The HTTP status, or 0. */
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  /** The provider's own message if there is one. */
  readonly message: string;
  /** The message of the innermost cause. */
  readonly rootMessage: string;
  /** All types, codes and reasons that the provider gives, as one lower-case text to search in. */
  readonly labels: string;
  /** The labels and the message. */
  readonly hints: string;
  readonly disconnected: boolean;
  /** True if the connection could not be opened. */
  readonly unopened: boolean;
  readonly aborted: boolean;
  /** True if a response of any status reports that the provider is busy, or that the reply broke off. */
  readonly reported: boolean;
  /** True if a response arrived that could not be parsed. */
  readonly malformed: boolean;
  readonly retryable: boolean | undefined;
  /** True if the provider or its package reported the error; false for an unexpected exception. */
  readonly deliberate: boolean;
}

const NETWORK =
  /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOST|ENET|UND_ERR|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const UNREADABLE = /^AI_(JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody|NoContentGenerated)Error$/;

function errorFacts(error: unknown): ErrorFacts {
  const causes = causesOf(error instanceof StreamError ? error.cause : error);
  const body = textIn(firstOf(causes, 'responseBody')) ?? '';
  const reports = [firstOf(causes, 'data'), bodyIn(causes), ...causes].flatMap(errorObjects);
  const texts = (field: string): string[] => reports.flatMap((each) => textIn(each[field]) ?? []);
  const names = causes.flatMap(({ name }) => textIn(name) ?? []);
  const name = names[0] ?? (error instanceof StreamError ? 'ProviderError' : 'Error');
  const labels = [...texts('type'), ...texts('code'), ...texts('status'), ...texts('reason')].join(' ').toLowerCase();
  const upstream = reports
    .map(({ metadata }) => (isFields(metadata) ? upstreamReason(metadata) : undefined))
    .find(Boolean);
  const own = providerMessage(error, texts('message')[0]);
  const message = upstream === undefined ? own : `${own} (${upstream})`;
  const status = statusOf(causes, reports);
  const retryable = causes.map(({ isRetryable }) => isRetryable).find((each) => typeof each === 'boolean');
  return {
    name,
    status,
    headers: (firstOf(causes, 'responseHeaders') ?? {}) as ErrorFacts['headers'],
    body,
    message,
    rootMessage: causes.flatMap((each) => textIn(each['message']) ?? []).at(-1) ?? message,
    labels,
    hints: `${labels} ${message.toLowerCase()}`,
    disconnected: causes.some(isDisconnect),
    unopened: causes.some(isUnopened),
    aborted: names.some((each) => each === 'AbortError' || each === 'ResponseAborted'),
    reported: isReported(reports, labels) || CUT.test(message),
    malformed: isUnreadable(causes[0]) && status < 400,
    retryable,
    deliberate: name.startsWith('AI_') || labels !== '' || retryable === false,
  };
}

/** True for an error object with a word or a number for "cannot answer now". */
function isReported(reports: readonly Fields[], labels: string): boolean {
  const isBusy = ({ code }: Fields): boolean =>
    typeof code === 'number' && (code === 429 || (code >= 500 && code < 600));
  return TOO_FAST.test(labels) || BUSY.test(labels) || reports.some(isBusy);
}

type Fields = { readonly [field: string]: unknown };

function causesOf(error: unknown): Fields[] {
  const chain: Fields[] = [];
  for (let each = error; isFields(each) && chain.length < CAUSES_MAX && !chain.includes(each); each = each['cause'])
    chain.push(each);
  return chain;
}

/** The status of the response. A gateway can answer 200 with an error that has a status of its own. */
function statusOf(causes: readonly Fields[], reports: readonly Fields[]): number {
  const status = firstOf(causes, 'statusCode');
  if (typeof status === 'number' && !isSuccess(status)) return status;
  const codes = reports.map(({ code }) => code);
  const reported = codes.find((code): code is number => typeof code === 'number' && code >= 400 && code < 600);
  return reported ?? (typeof status === 'number' ? status : 0);
}

/** OpenRouter reports the error of the provider behind it as JSON text. */
function upstreamReason({ raw, provider_name: provider }: Fields): string | undefined {
  const text = textIn(raw);
  if (text === undefined) return undefined;
  const inner = errorObjects(parsedJson(text)).flatMap(({ message }) => textIn(message) ?? [])[0] ?? text;
  return `${textIn(provider) ?? 'upstream'}: ${inner}`;
}

/** Without the unreadable text that the AI SDK appends in full. */
function providerMessage(error: unknown, message: string | undefined): string {
  return (
    message?.replace(/\.?:? (Text|Value): .*$/s, '') ??
    textIn(error) ??
    textIn((error as { cause?: unknown } | null)?.cause) ??
    'no reason given'
  );
}

function isDisconnect({ code, message }: Fields): boolean {
  return (
    NETWORK.test(textIn(code) ?? '') || /^(terminated|fetch failed|other side closed)$/.test(textIn(message) ?? '')
  );
}

/** The error objects inside a response, such as `{ error: { … } }`, innermost first. */
function errorObjects(value: unknown): Fields[] {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (!isFields(one)) return [];
  const inner = [one['error'], one['data'], one['response']].flatMap(errorObjects);
  const details = Array.isArray(one['details']) ? one['details'].filter(isFields) : [];
  return [...inner, one, ...details];
}

function firstOf(chain: readonly Fields[], field: string): unknown {
  return chain.find((each) => each[field] !== undefined && each[field] !== null)?.[field];
}

/** The body of the response. Packages give it as text or as the parsed value. */
function bodyIn(causes: readonly Fields[]): unknown {
  const body = firstOf(causes, 'responseBody');
  return typeof body === 'string' ? parsedJson(body) : body;
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object';
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
