/** HTTP tools: requests that an agent writes, to allowed hosts, and requests that a document declares. */
import type { Json } from '../../expr/json.ts';
import { addressIn, hostOf } from './hosts.ts';
import { send } from './http-client.ts';
import type { HttpResponse } from './http-client.ts';
import { argumentsIn, expandText, expandValue, textOf } from './template.ts';
import type { Scope } from './template.ts';
import { deadlineText, fail } from './tool.ts';
import type { HttpOptions, ToolCall, ToolKind, ToolOptions, ToolWork } from './tool.ts';

interface DeclaredHttp {
  readonly method?: string;
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: Json };
  readonly body?: Json;
}
type Headers = { readonly [name: string]: string };

/** Headers that decide where a request goes, where it ends, or whether it is a repetition. */
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
    declared: (definition) => declaredHttp(definition as unknown as DeclaredHttp, options),
  };
}

function builtinHttp({ http = {} }: ToolOptions, fixed?: 'GET' | 'POST' | 'PUT'): ToolWork {
  const allowed = { hosts: http.hosts ?? [], privateHosts: http.privateHosts ?? [] };
  return async (call) => {
    const args = call.args as { url: string; method?: string; headers?: Headers; body?: Json };
    const method = fixed ?? args.method ?? 'GET';
    const reserved = Object.keys(args.headers ?? {}).find((name) => RESERVED_HEADERS.has(name.toLowerCase()));
    if (reserved !== undefined)
      throw fail('policy', 'HeaderError', `the header \`${reserved}\` is set by the engine and cannot be chosen`);
    const body = fixed === 'GET' ? undefined : args.body;
    const request = { method, url: args.url, ...withBody(withKey(method, args.headers ?? {}, call), body) };
    const response = await send(request, allowed, limits(call, http));
    const { status, url, headers, truncated } = response;
    return { status, url, headers: { ...headers }, body: bodyOf(response), truncated };
  };
}

/**
 * The author chose the host of a declared request, so it is allowed, also if it is `localhost` or a private address that is
 * written out. A host that comes from an argument must be on the list.
 */
function declaredHttp(declared: DeclaredHttp, { http = {}, env = process.env }: ToolOptions): ToolWork {
  const method = declared.method ?? 'GET';
  const host = fixedHost(declared.url);
  const isLocal = host !== null && (addressIn(host) !== null || host === 'localhost' || host.endsWith('.localhost'));
  const allowed = {
    hosts: [...(http.hosts ?? []), ...(host === null ? [] : [host])],
    privateHosts: [...(http.privateHosts ?? []), ...(isLocal ? [host] : [])],
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
      throw fail('semantic', 'TooLargeError', `the response to \`${call.name}\` is larger than the limit`);
    return bodyOf(response);
  };
}

/** An argument fills one segment of the path. It cannot make the segment `.` or `..`, which would lead elsewhere. */
function urlOf(template: string, scope: Scope): string {
  const [path = ''] = template.split(/[?#]/, 1);
  for (const segment of path.split(/[/\\]/)) {
    const expanded = expandText(segment, scope, encodeURIComponent);
    if (expanded !== segment && /^(?:\.|%2e){1,2}$/i.test(expanded))
      throw fail('semantic', 'ArgumentError', `\`${segment}\` in the URL would become \`${expanded}\``);
  }
  return expandText(template, scope, encodeURIComponent);
}

/** The host in a template; null if the host itself contains a placeholder. */
function fixedHost(template: string): string | null {
  const authority = /^https?:\/\/([^/?#]*)/.exec(template)?.[1];
  if (authority === undefined || authority.includes('{{')) return null;
  try {
    return hostOf(new URL(`http://${authority}`));
  } catch {
    return null;
  }
}

/** Without `query` and `body`, arguments that the URL does not use become the query. */
function queryOf({ url, query, body }: DeclaredHttp, method: string, scope: Scope): { [name: string]: Json } {
  if (query !== undefined) return expandValue(query, scope) as { [name: string]: Json };
  if (body !== undefined || !WITHOUT_BODY.has(method)) return {};
  const used = argumentsIn(url);
  return Object.fromEntries(Object.entries(scope.args).filter(([name]) => !used.has(name)));
}

function withQuery(url: string, query: { readonly [name: string]: Json }): string {
  if (!URL.canParse(url)) return url;
  const full = new URL(url);
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
  const timed = withDeadline(headers, call);
  if (method === 'GET' || method === 'HEAD' || hasHeader(headers, 'idempotency-key')) return timed;
  return { ...timed, 'Idempotency-Key': call.idempotencyKey };
}

/** A server that knows the deadline can stop early. */
function withDeadline(headers: Headers, call: ToolCall['call']): Headers {
  const deadline = deadlineText(call);
  if (deadline === null || hasHeader(headers, 'sluice-deadline')) return headers;
  return { ...headers, 'Sluice-Deadline': deadline };
}

function hasHeader(headers: Headers, name: string): boolean {
  return Object.keys(headers).some((each) => each.toLowerCase() === name);
}

function limits({ signal, timeoutMs }: ToolCall, http: HttpOptions): Parameters<typeof send>[2] {
  return { ...http, timeoutMs: Math.min(timeoutMs, http.timeoutMs ?? Infinity), signal };
}

function bodyOf({ headers, body, truncated }: HttpResponse): Json {
  if (truncated || !/\bjson\b/i.test(headers['content-type'] ?? '')) return body;
  try {
    return JSON.parse(body) as Json;
  } catch {
    return body;
  }
}
