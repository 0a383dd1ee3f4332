/**
 * Sends one HTTP request within limits of time, size and redirects. Every redirect is checked like the first request; one to
 * another origin loses the headers meant for the first. A status other than 2xx is a failed call.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { FailureClass, Instant } from '@sluice-internal/kernel/ir';
import { PerformError, fail, failUnsent } from '@sluice-internal/engine/ports';
import { retryAfterMs } from '@sluice-internal/platform';
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Readable } from 'node:stream';
import type { HttpOptions, ToolCall } from './tool.ts';
import { decode, wholeCharacters } from './output.ts';
import { addressesOf, type Allowed } from './public-addresses.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | null;
}
export interface HttpResponse {
  readonly status: number;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  readonly truncated: boolean;
}

const RESPONSE_MAX = 1024 * 1024;
const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 30_000;
/** Headers that a redirect to another origin keeps. */
const KEPT_HEADERS = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent', 'content-type']);
const STATUS_CLASSES: { readonly [status: number]: FailureClass } = {
  401: 'policy',
  403: 'policy',
  407: 'policy',
  408: 'timeout',
  425: 'transient',
  429: 'rate_limit',
  504: 'timeout',
};

/** `unanswered`: the class of a call without an answer. A gateway that lost the server (502) gives no answer. */
export function classOfStatus(status: number, unanswered: FailureClass): FailureClass {
  if (status === 502) return unanswered;
  return STATUS_CLASSES[status] ?? (status >= 500 ? 'transient' : 'fatal');
}

interface SendOptions extends HttpOptions {
  readonly signal: AbortSignal;
  /** Removes secrets from the text of an error. */
  readonly clean?: ToolCall['clean'];
  /** The class of a request that was sent and got no whole answer. Default: `transient`. */
  readonly unanswered?: FailureClass;
  /** For a `Retry-After` that is a date. Default: the time of the machine. */
  readonly now?: () => Instant;
}

export async function send(first: HttpRequest, allowed: Allowed, options: SendOptions): Promise<HttpResponse> {
  return follow(first, allowed, options, async (url, response) => {
    const { data, truncated } = await bytesOf(response, options);
    const body = decode(truncated ? wholeCharacters(data) : data).text;
    return checked(url, response, { body, truncated }, options);
  });
}

/** The bytes of a file. A longer one is cut at `responseMax`. */
export async function download(url: string, allowed: Allowed, options: SendOptions): Promise<Buffer> {
  return follow({ method: 'GET', url, headers: {}, body: null }, allowed, options, async (final, response) => {
    const { data, truncated } = await bytesOf(response, options);
    const isFound = (response.statusCode ?? 0) >= 200 && (response.statusCode ?? 0) < 300;
    if (!isFound) checked(final, response, { body: decode(data).text, truncated }, options);
    return data;
  });
}

/** The whole answer, of any status. */
export async function exchangeWhole(
  request: HttpRequest,
  allowed: Allowed,
  options: SendOptions,
): Promise<{
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly data: Uint8Array<ArrayBuffer>;
}> {
  return follow(request, allowed, options, async (_, response) => {
    const { data } = await bytesOf(response, options);
    const packed = ['content-encoding', 'content-length', 'transfer-encoding'];
    const headers = Object.entries(response.headers).flatMap(([name, value]) =>
      value === undefined || packed.includes(name) ? [] : [[name, String(value)]],
    );
    return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), data: new Uint8Array(data) };
  });
}

/** Follows redirects, within the time of the request. */
async function follow<Result>(
  first: HttpRequest,
  allowed: Allowed,
  options: SendOptions,
  read: (url: URL, response: IncomingMessage) => Promise<Result>,
): Promise<Result> {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([options.signal, late]);
  try {
    let request = first;
    for (let hops = 0; ; hops += 1) {
      const url = URL.parse(request.url);
      if (url === null) throw fail('semantic', 'ArgumentError', `\`${request.url}\` is not a URL`);
      const addresses = await addressesOf(url, allowed, options.resolve);
      const response = await exchange(url, request, addresses, { ...options, signal });
      const to = location(response);
      if (to === null) return await read(url, response);
      response.destroy();
      if (hops >= REDIRECTS_MAX) throw fail('fatal', 'RedirectError', `\`${first.url}\` redirects too often`);
      const next = URL.parse(to, url.href);
      if (next === null)
        throw fail('fatal', 'RedirectError', `\`${first.url}\` redirects to \`${to}\`, which is not a URL`);
      request = redirected(request, url, next, response.statusCode ?? 0);
    }
  } catch (error) {
    if (late.aborted) throw fail('timeout', 'TimeoutError', `\`${first.url}\` did not answer within ${timeoutMs} ms`);
    throw error;
  }
}

function exchange(
  url: URL,
  { method, headers, body }: HttpRequest,
  addresses: readonly string[],
  { signal, unanswered = 'transient' }: SendOptions,
): Promise<IncomingMessage> {
  const pinned: LookupFunction = (_host, { all }, done) => {
    const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    if (all === true) done(null, found);
    else done(null, (found[0] as { address: string }).address, found[0]?.family);
  };
  const settings: RequestOptions = {
    method,
    lookup: pinned,
    signal,
    agent: false,
    headers: {
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': 'sluice',
      ...headers,
      ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
  };
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    let isOpen = false;
    const failed = (error: Error): void => {
      const message = (what: string): string => `\`${url.origin}\` ${what}: ${codeOf(error)}`;
      if (isOpen) reject(fail(unanswered, 'ConnectionError', message('closed the connection without an answer')));
      else reject(failUnsent('transient', 'ConnectionError', message('cannot be reached')));
    };
    try {
      const sent = (isSecure ? secureRequest : plainRequest)(url, settings, resolve);
      sent.on('error', failed);
      sent.on('socket', (socket) => socket.once(isSecure ? 'secureConnect' : 'connect', () => (isOpen = true)));
      sent.end(body ?? undefined);
    } catch (error) {
      reject(fail('semantic', 'ArgumentError', `the request cannot be sent: ${reasonOf(error)}`));
    }
  });
}

async function bytesOf(
  response: IncomingMessage,
  { responseMax: max = RESPONSE_MAX, unanswered = 'transient' }: SendOptions,
): Promise<{ data: Buffer; truncated: boolean }> {
  const kept: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of unpacked(response) as AsyncIterable<Buffer>) {
      const part = chunk.subarray(0, max - size);
      kept.push(part);
      size += part.length;
      if (part.length < chunk.length) return { data: Buffer.concat(kept), truncated: true };
    }
  } catch (error) {
    throw fail(unanswered, 'ConnectionError', `the response broke off: ${codeOf(error as Error)}`);
  } finally {
    response.destroy();
  }
  return { data: Buffer.concat(kept), truncated: false };
}

function unpacked(response: IncomingMessage): Readable {
  const unpack = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress }[
    response.headers['content-encoding']?.trim().toLowerCase() ?? ''
  ];
  if (unpack === undefined) return response;
  const stream = unpack();
  response.on('error', (error) => stream.destroy(error));
  response.on('aborted', () => stream.destroy(new Error('the connection was closed')));
  return response.pipe(stream);
}

function checked(
  url: URL,
  response: IncomingMessage,
  { body, truncated }: { body: string; truncated: boolean },
  { clean = (text) => text, unanswered = 'transient', now = Date.now }: SendOptions,
): HttpResponse {
  const status = response.statusCode ?? 0;
  const headers = Object.fromEntries(
    Object.entries(response.headers).flatMap(([name, value]) =>
      value === undefined || name === 'set-cookie' ? [] : [[name, String(value)]],
    ),
  );
  if (status >= 200 && status < 300) return { status, url: url.href, headers, body, truncated };
  const wait = headers['retry-after'] === undefined ? '' : ` (retry after ${headers['retry-after']})`;
  const excerpt = clean(body).trim().slice(0, 300);
  const asked = retryAfterMs(headers, now());
  throw new PerformError({
    class: classOfStatus(status, unanswered),
    type: status === 429 ? 'RateLimitError' : 'HttpError',
    message: `${url.origin}${url.pathname} answered ${status}${wait}${excerpt === '' ? '' : `: ${excerpt}`}`,
    ...(asked === undefined ? {} : { retryAfterMs: asked }),
  });
}

function location({ statusCode, headers }: IncomingMessage): string | null {
  return [301, 302, 303, 307, 308].includes(statusCode ?? 0) ? (headers.location ?? null) : null;
}

function redirected(request: HttpRequest, from: URL, to: URL, status: number): HttpRequest {
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw fail('policy', 'RedirectError', `\`${from.origin}\` redirects from https to http`);
  const bare = status === 303 || (status < 303 && request.method === 'POST');
  const headers =
    from.origin === to.origin
      ? request.headers
      : Object.fromEntries(Object.entries(request.headers).filter(([name]) => KEPT_HEADERS.has(name.toLowerCase())));
  if (!bare) return { ...request, url: to.href, headers };
  return {
    method: request.method === 'HEAD' ? 'HEAD' : 'GET',
    url: to.href,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')),
    body: null,
  };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}
