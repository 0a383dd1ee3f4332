/**
 * The requests to an MCP server over HTTP. The document names the server, so its address may be private. Every other address comes
 * from the server: the pages of its authorization server, for example. Such a request goes through the check of tools that call
 * hosts, so that a server cannot make this process call a host of the network that it is in.
 */
import { PerformError } from '@sluice-internal/engine/ports';
import { limitSize } from '@sluice-internal/platform';
import { exchangeWhole } from '../calls/http-client.ts';
import { hostOf } from '../calls/public-addresses.ts';
import type { HttpOptions, McpServer } from '../calls/tool.ts';

/** Bytes. */
export const MESSAGE_MAX = 8 * 1024 * 1024;
const REDIRECTS_MAX = 5;

/** `issuer`: the authorization server that the document names. */
export function guardedFetch(server: URL, issuer: string | undefined, http: HttpOptions = {}): typeof fetch {
  const named = [server, ...(issuer === undefined ? [] : [URL.parse(issuer)])].flatMap((url) =>
    url === null ? [] : [hostOf(url)],
  );
  const allowed = { hosts: ['*'], privateHosts: [...named, ...(http.privateHosts ?? [])] };
  return async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.origin === server.origin) return fetchOwn(url, init);
    const body = request.body === null ? null : await request.text();
    const headers = Object.fromEntries(request.headers);
    const options = { ...http, responseMax: MESSAGE_MAX, signal: request.signal };
    const answer = await exchangeWhole(
      { method: request.method, url: url.href, headers, body },
      allowed,
      options,
    ).catch(asFetchError);
    const isBodiless = [204, 205, 304].includes(answer.status);
    return new Response(isBodiless ? null : answer.data, { status: answer.status, headers: answer.headers });
  };
}

/** The server itself. Its redirects stay with it: a redirect to another host is one that the document does not name. */
async function fetchOwn(first: URL, init: RequestInit = {}): Promise<Response> {
  let url = first;
  for (let hops = 0; ; hops += 1) {
    const response = await fetch(url, { ...init, redirect: 'manual' });
    const to = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || to === null) return capped(response, init.method);
    await response.body?.cancel();
    const next = URL.parse(to, url.href);
    if (next?.origin !== first.origin || hops >= REDIRECTS_MAX)
      throw new TypeError(`\`${first.origin}\` redirects to \`${to}\`, and the document does not name that`);
    url = next;
  }
}

/** Breaks off a response that is larger than a message may be. */
function capped(response: Response, method: string | undefined): Response {
  if (method !== 'POST' || response.body === null) return response;
  const limit = limitSize(MESSAGE_MAX, () => new Error(`the response exceeds ${MESSAGE_MAX} bytes`));
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

/** The SDK tries the next place after a `TypeError`, as for a host that does not answer. A refused host ends the login. */
function asFetchError(error: unknown): never {
  if (error instanceof PerformError && error.class === 'policy') throw new Error(error.message);
  throw error instanceof Error ? new TypeError(error.message, { cause: error }) : error;
}

export function fetchFor(
  { url = '', oauth }: McpServer,
  expand: (text: string) => string,
  http?: HttpOptions,
): typeof fetch {
  const issuer = oauth?.issuer;
  return guardedFetch(new URL(url), issuer === undefined ? undefined : expand(issuer), http);
}
