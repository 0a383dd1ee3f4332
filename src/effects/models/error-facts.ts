/** What an error from a provider's package says, wherever in it that is said: status, headers, body, words, causes. */
import { StreamError } from './reply.ts';

export interface ErrorFacts {
  readonly name: string;
  readonly status: number | undefined;
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: string;
  /** The provider's own sentence, or the best there is. */
  readonly message: string;
  /** Types and codes that the provider gives, as one text to search in. */
  readonly labels: string;
  /** Whether the connection failed, by the codes of the causes. */
  readonly disconnected: boolean;
  readonly aborted: boolean;
  /** Whether the answer came but could not be read. */
  readonly malformed: boolean;
  readonly retryable: boolean | undefined;
}

const NETWORK =
  /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOST|ENET|UND_ERR|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const UNREADABLE = /^AI_(JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody|NoContentGenerated)Error$/;

export function errorFacts(error: unknown): ErrorFacts {
  const chain = causes(error instanceof StreamError ? error.cause : error);
  const body = text(first(chain, 'responseBody')) ?? '';
  const told = [first(chain, 'data'), parsed(body), ...chain].flatMap(reported);
  const words = (field: string): string[] => told.flatMap((each) => text(each[field]) ?? []);
  const names = chain.flatMap(({ name }) => text(name) ?? []);
  const status = first(chain, 'statusCode');
  return {
    name: names[0] ?? (error instanceof StreamError ? 'ProviderError' : 'Error'),
    status:
      typeof status === 'number'
        ? status
        : (told.map(({ code }) => code).find((code) => typeof code === 'number' && code >= 400 && code < 600) as
            | number
            | undefined),
    headers: (first(chain, 'responseHeaders') ?? {}) as ErrorFacts['headers'],
    body,
    // What could not be read follows in full, which helps nobody.
    message:
      words('message')[0]?.replace(/\.?:? (Text|Value): .*$/s, '') ??
      text(error) ??
      text((error as { cause?: unknown } | null)?.cause) ??
      'no reason given',
    labels: [...words('type'), ...words('code'), ...words('status'), ...words('reason')].join(' ').toLowerCase(),
    disconnected: chain.some(
      ({ code, message }) =>
        NETWORK.test(text(code) ?? '') || /^(terminated|fetch failed|other side closed)$/.test(text(message) ?? ''),
    ),
    aborted: names.some((name) => name === 'AbortError' || name === 'ResponseAborted'),
    malformed: isUnreadable(chain[0]),
    retryable: chain.map(({ isRetryable }) => isRetryable).find((each) => typeof each === 'boolean'),
  };
}

/** Whether an answer came that could not be read, as opposed to one that reports an error. */
export function isUnreadable(error: unknown): boolean {
  return causes(error).some(({ name }) => UNREADABLE.test(text(name) ?? ''));
}

type Fields = { readonly [field: string]: unknown };

function causes(error: unknown): Fields[] {
  const chain: Fields[] = [];
  for (let each = error; isFields(each) && chain.length < 8 && !chain.includes(each); each = each['cause'])
    chain.push(each);
  return chain;
}

/** The error within an answer: `{ error: { … } }`, perhaps in a list, or the thing itself. What is innermost says most. */
function reported(value: unknown): Fields[] {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (!isFields(one)) return [];
  const inner = [one['error'], one['data'], one['response']].flatMap(reported);
  const details = Array.isArray(one['details']) ? one['details'].filter(isFields) : [];
  return [...inner, one, ...details];
}

function first(chain: readonly Fields[], field: string): unknown {
  return chain.find((each) => each[field] !== undefined && each[field] !== null)?.[field];
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object';
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
