/** HTTP tools: requests that an agent writes, to allowed hosts, and requests that a document declares. */
import { jsonOr } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { refusedResult, textOf } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { addressIn, hostOf } from './public-addresses.ts';
import { send, type HttpResponse } from './http-client.ts';
import { argumentsIn, expandText, expandValue, type Scope } from './template.ts';
import { classUnanswered, deadlineText } from './tool.ts';
import type { HttpOptions, ToolCall, ToolKind, ToolOptions, ToolWork } from './tool.ts';

interface DeclaredHttp {
  readonly method?: string;
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: Json };
  readonly body?: Json;
}
type Headers = { readonly [name: string]: string };
/** A built-in request that can also go to a service of the document: its address and headers have a name. */
interface ProfiledHttp {
  readonly method?: 'GET';
  /** The only hosts of requests without a profile, behind redirects too. */
  readonly hosts?: readonly string[];
  readonly profiles: {
    readonly [name: string]: { readonly url: string; readonly headers?: Headers; readonly timeoutMs?: number };
  };
}
interface RequestArgs {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: Json;
}

/** Headers that decide the method, the target, the length or the repetition of a request. */
const RESERVED_HEADERS = new Set([
  'host',
  'idempotency-key',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'expect',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
  'x-forwarded-host',
  'forwarded',
]);
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

export function httpTools(options: ToolOptions): ToolKind {
  return {
    builtins: {
      'http.get': builtinHttp(options, 'GET'),
      'http.post': builtinHttp(options, 'POST'),
      'http.put': builtinHttp(options, 'PUT'),
      'http.request': builtinHttp(options),
    },
    declared: (definition) =>
      isProfiled(definition)
        ? profiledHttp(definition, options)
        : declaredHttp(definition as unknown as DeclaredHttp, options),
  };
}

function builtinHttp(
  { http = {} }: ToolOptions,
  fixed?: 'GET' | 'POST' | 'PUT',
  within: readonly string[] | null = null,
): ToolWork {
  const allowed = { hosts: http.hosts ?? [], within, privateHosts: http.privateHosts ?? [] };
  return async (call) => {
    const args = call.args as unknown as RequestArgs;
    const { url, headers = {}, body } = args;
    const request = { url, headers, method: fixed ?? args.method ?? 'GET' };
    const sent = fixed === 'GET' || body === undefined ? request : { ...request, body };
    return sendFor(call, sent, allowed, limits(call, http));
  };
}

async function sendFor(
  call: ToolCall,
  { method, url: address, headers: chosen = {}, body }: RequestArgs & { readonly method: string },
  allowed: Parameters<typeof send>[1],
  limit: Parameters<typeof send>[2],
): Promise<Json> {
  const reserved = Object.keys(chosen).find((name) => RESERVED_HEADERS.has(name.toLowerCase()));
  if (reserved !== undefined)
    throw fail('policy', 'HeaderError', `the header \`${reserved}\` is set by the engine and cannot be chosen`);
  const request = { method, url: address, ...withBody(withKey(method, chosen, call), body) };
  const response = await send(request, allowed, limit);
  const { status, url, headers, truncated } = response;
  return { status, url, headers: { ...headers }, body: bodyOf(response), truncated };
}

function isProfiled(definition: unknown): definition is ProfiledHttp {
  return definition !== null && typeof definition === 'object' && 'profiles' in definition;
}

/** With `profile`, the address is relative to that of the profile and stays below it, so its headers go nowhere else. */
function profiledHttp({ profiles, method, hosts }: ProfiledHttp, options: ToolOptions): ToolWork {
  const { http = {}, env = process.env } = options;
  const plain = builtinHttp(options, method, hosts);
  return async (call) => {
    const name = textOf(call.args['profile'] ?? null);
    if (name === '') return plain(call);
    const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (profile === undefined) throw fail('semantic', 'ArgumentError', `there is no profile \`${name}\``);
    const args = call.args as unknown as RequestArgs;
    const expand = (text: string): string => expandText(text, { args: {}, result: null, env });
    const base = new URL(`${expand(profile.url).replace(/\/+$/, '')}/`);
    const own = Object.entries(profile.headers ?? {}).map(([key, value]) => [key, expand(value)] as const);
    const request = {
      ...args,
      url: addressBelow(base, args.url),
      method: method ?? args.method ?? 'GET',
      headers: overridden(own, args.headers ?? {}),
    };
    const host = hostOf(base);
    const privateHosts = [...(http.privateHosts ?? []), ...(isLocal(host) ? [host] : [])];
    const timed = { ...call, timeoutMs: Math.min(call.timeoutMs, profile.timeoutMs ?? Infinity) };
    return sendFor(timed, request, { hosts: [host], privateHosts }, limits(timed, http));
  };
}

function addressBelow(base: URL, written: string): string {
  const url = /^https?:/i.test(written) ? new URL(written) : new URL(written.replace(/^\/+/, './'), base);
  if (url.origin === base.origin && url.pathname.startsWith(base.pathname)) return url.href;
  throw fail('policy', 'AddressError', `\`${written}\` is not below ${base.href}, the address of the profile`);
}

/** Headers of the call replace headers of the profile with the same name. Letter case does not matter. */
function overridden(own: readonly (readonly [string, string])[], given: Headers): Headers {
  return { ...Object.fromEntries(own.filter(([name]) => !hasHeader(given, name.toLowerCase()))), ...given };
}

/** True for an address that is written out, and for `localhost`. */
function isLocal(host: string): boolean {
  return addressIn(host) !== null || host === 'localhost' || host.endsWith('.localhost');
}

/**
 * The author chose the host of a declared request, so it is allowed, also if it is `localhost` or a private address that is
 * written out. A host that comes from an argument must be on the list.
 */
function declaredHttp(declared: DeclaredHttp, { http = {}, env = process.env }: ToolOptions): ToolWork {
  const method = declared.method ?? 'GET';
  const host = fixedHost(declared.url);
  const allowed = {
    hosts: [...(http.hosts ?? []), ...(host === null ? [] : [host])],
    privateHosts: [...(http.privateHosts ?? []), ...(host !== null && isLocal(host) ? [host] : [])],
  };
  return async (call) => {
    const scope: Scope = { args: call.args, result: call.result, env };
    const url = withQuery(urlOf(declared.url, scope), queryOf(declared, method, scope));
    const headers = Object.fromEntries(
      Object.entries(declared.headers ?? {}).map(([name, value]) => [name, expandText(value, scope)]),
    );
    const request = { method, url, ...withBody(withKey(method, headers, call), declaredBody(declared, method, scope)) };
    const response = await send(request, allowed, limits(call, http));
    if (response.truncated)
      throw refusedResult(
        call.call,
        fail('semantic', 'TooLargeError', `the response to \`${call.name}\` is larger than the limit`),
      );
    return bodyOf(response);
  };
}

/** A placeholder at the start of a URL is its scheme and host, as in `{{env.API_URL}}/orders`. It is not encoded. */
const LEADING = /^\{\{[^{}]*\}\}/;

/** An argument fills one segment of the path. It cannot make the segment `.` or `..`, which would lead elsewhere. */
function urlOf(template: string, scope: Scope): string {
  const [path = ''] = template.split(/[?#]/, 1);
  for (const segment of path.split(/[/\\]/)) {
    const expanded = expandText(segment, scope, encodeURIComponent);
    if (expanded !== segment && /^(?:\.|%2e){1,2}$/i.test(expanded))
      throw fail('semantic', 'ArgumentError', `\`${segment}\` in the URL would become \`${expanded}\``);
  }
  const [start = ''] = LEADING.exec(template) ?? [];
  return expandText(start, scope) + expandText(template.slice(start.length), scope, encodeURIComponent);
}

/** The host in a template; null if the host itself contains a placeholder. */
function fixedHost(template: string): string | null {
  const authority = /^https?:\/\/([^/?#]*)/.exec(template)?.[1];
  if (authority === undefined || authority.includes('{{')) return null;
  const url = URL.parse(`http://${authority}`);
  return url === null ? null : hostOf(url);
}

/** Without `query` and `body`, arguments that the URL does not use become the query. */
function queryOf({ url, query, body }: DeclaredHttp, method: string, scope: Scope): { [name: string]: Json } {
  if (query !== undefined) return expandValue(query, scope) as { [name: string]: Json };
  if (body !== undefined || !WITHOUT_BODY.has(method)) return {};
  const used = argumentsIn(url);
  return Object.fromEntries(Object.entries(scope.args).filter(([name]) => !used.has(name)));
}

function withQuery(url: string, query: { readonly [name: string]: Json }): string {
  const full = URL.parse(url);
  if (full === null) return url;
  for (const [name, value] of Object.entries(query)) if (value !== null) full.searchParams.append(name, textOf(value));
  return full.href;
}

function declaredBody({ body }: DeclaredHttp, method: string, scope: Scope): Json | undefined {
  if (body !== undefined) return expandValue(body, scope);
  return WITHOUT_BODY.has(method) ? undefined : scope.args;
}

function withBody(headers: Headers, body: Json | undefined): { headers: Headers; body: string | null } {
  if (body === undefined) return { headers, body: null };
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  return {
    headers: hasHeader(headers, 'content-type') ? headers : { ...headers, 'content-type': type },
    body: textOf(body),
  };
}

/** A request that may change something carries the idempotency key, so that the server can recognise a repetition. */
function withKey(method: string, headers: Headers, { call }: ToolCall): Headers {
  const deadline = deadlineText(call);
  const changes = method !== 'GET' && method !== 'HEAD';
  return {
    ...headers,
    // With the deadline, the server can stop early.
    ...(deadline === null || hasHeader(headers, 'sluice-deadline') ? {} : { 'Sluice-Deadline': deadline }),
    ...(changes && !hasHeader(headers, 'idempotency-key') ? { 'Idempotency-Key': call.idempotencyKey } : {}),
  };
}

function hasHeader(headers: Headers, name: string): boolean {
  return Object.keys(headers).some((each) => each.toLowerCase() === name);
}

function limits(call: ToolCall, http: HttpOptions): Parameters<typeof send>[2] {
  const { signal, timeoutMs, clean } = call;
  return {
    ...http,
    timeoutMs: Math.min(timeoutMs, http.timeoutMs ?? Infinity),
    signal,
    clean,
    unanswered: classUnanswered(call),
    now: () => call.call.clock.now(),
  };
}

function bodyOf({ headers, body, truncated }: HttpResponse): Json {
  return truncated || !/\bjson\b/i.test(headers['content-type'] ?? '') ? body : jsonOr(body, body);
}
