/** HTTP as tools: addresses that an agent writes, on hosts that were allowed; and requests that a document declares. */
import type { Json } from '../../expr/json.ts';
import type { ToolCall, ToolOptions, ToolWork } from './tool.ts';
import { addressIn } from './hosts.ts';
import { fail } from './tool.ts';
import { hostOf } from './hosts.ts';
import { send } from './http-client.ts';
import type { HttpResponse } from './http-client.ts';
import { expandText, expandValue, mentioned, textOf } from './template.ts';
import type { Scope } from './template.ts';

export interface DeclaredHttp {
  readonly method?: string;
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: Json };
  readonly body?: Json;
}
type Headers = { readonly [name: string]: string };

const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

/** A built-in request goes to allowed hosts only. */
export function httpTool({ http = {} }: ToolOptions, fixed?: 'GET'): ToolWork {
  const allowed = { hosts: http.hosts ?? [], privateHosts: http.privateHosts ?? [] };
  return async (call) => {
    const {
      url,
      method = 'GET',
      headers = {},
      body,
    } = call.args as { url: string; method?: string; headers?: Headers; body?: Json };
    const request = {
      method: fixed ?? method,
      url,
      ...withBody(keyed(fixed ?? method, headers, call), fixed === undefined ? body : undefined),
    };
    const {
      status,
      url: end,
      headers: answered,
      truncated,
      ...response
    } = await send(request, allowed, limits(call, http));
    return {
      status,
      url: end,
      headers: { ...answered },
      body: bodyOf({ status, url: end, headers: answered, truncated, ...response }),
      truncated,
    };
  };
}

/**
 * The author chose the host of a declared request, so it is allowed, even on this machine or in this network where it is
 * written as such. A host that comes out of an argument is nobody's choice: it must be on the list.
 */
export function declaredHttp(declared: DeclaredHttp, { http = {}, env = process.env }: ToolOptions): ToolWork {
  const method = declared.method ?? 'GET';
  const chosen = fixedHost(declared.url);
  const isLocal =
    chosen !== null && (addressIn(chosen) !== null || chosen === 'localhost' || chosen.endsWith('.localhost'));
  const allowed = {
    hosts: [...(http.hosts ?? []), ...(chosen === null ? [] : [chosen])],
    privateHosts: [...(http.privateHosts ?? []), ...(isLocal ? [chosen] : [])],
  };
  return async (call) => {
    const scope: Scope = { args: call.args, result: call.result, env };
    const url = withQuery(addressOf(declared.url, scope), queryOf(declared, method, scope));
    const headers = Object.fromEntries(
      Object.entries(declared.headers ?? {}).map(([name, value]) => [name, expandText(value, scope)]),
    );
    const body =
      declared.body === undefined
        ? WITHOUT_BODY.has(method)
          ? undefined
          : (call.args as Json)
        : expandValue(declared.body, scope);
    const response = await send(
      { method, url, ...withBody(keyed(method, headers, call), body) },
      allowed,
      limits(call, http),
    );
    if (response.truncated)
      throw fail('semantic', 'TooLargeError', `the answer of \`${call.name}\` is larger than what is read of it`);
    return bodyOf(response);
  };
}

/** A value stays inside the segment of the path that it is written in: none may climb out of it as `.` or `..`. */
function addressOf(template: string, scope: Scope): string {
  const [path = ''] = template.split(/[?#]/, 1);
  for (const segment of path.split(/[/\\]/)) {
    const expanded = expandText(segment, scope, encodeURIComponent);
    if (expanded !== segment && /^(?:\.|%2e){1,2}$/i.test(expanded))
      throw fail(
        'semantic',
        'ArgumentError',
        `\`${segment}\` in the address would be \`${expanded}\`, which leads elsewhere`,
      );
  }
  return expandText(template, scope, encodeURIComponent);
}

/** The host as it is written, or null where a template has a say in it. */
function fixedHost(template: string): string | null {
  const authority = /^https?:\/\/([^/?#]*)/.exec(template)?.[1];
  if (authority === undefined || authority.includes('{{')) return null;
  try {
    return hostOf(new URL(`http://${authority}`));
  } catch {
    return null;
  }
}

/** Without a query or a body to put them into, arguments that the address does not mention become the query. */
function queryOf({ url, query, body }: DeclaredHttp, method: string, scope: Scope): { [name: string]: Json } {
  if (query !== undefined) return expandValue(query, scope) as { [name: string]: Json };
  if (body !== undefined || !WITHOUT_BODY.has(method)) return {};
  const used = mentioned(url);
  return Object.fromEntries(Object.entries(scope.args).filter(([name]) => !used.has(name)));
}

function withQuery(url: string, query: { readonly [name: string]: Json }): string {
  if (!URL.canParse(url)) return url;
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) if (value !== null) full.searchParams.append(name, textOf(value));
  return full.href;
}

function withBody(headers: Headers, body: Json | undefined): { headers: Headers; body: string | null } {
  if (body === undefined) return { headers, body: null };
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  return { headers: hasType ? headers : { ...headers, 'content-type': type }, body: textOf(body) };
}

/** A request that may change something carries the call's key, so that a server can tell a repetition from a second wish. */
function keyed(method: string, headers: Headers, { call }: ToolCall): Headers {
  if (
    method === 'GET' ||
    method === 'HEAD' ||
    Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key')
  )
    return headers;
  return { ...headers, 'Idempotency-Key': call.idempotencyKey };
}

function limits({ signal, timeoutMs }: ToolCall, http: NonNullable<ToolOptions['http']>): Parameters<typeof send>[2] {
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
