/** Logs a person in to an MCP server: shows the page of the authorization server, and waits for the browser to come back. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expandText } from '../calls/template.ts';
import type { McpServer } from '../calls/tool.ts';
import { fetchFor } from './guarded-fetch.ts';
import { Login } from './oauth.ts';
import { loadSdk, sdk } from './sdk.ts';

interface LoginOptions {
  readonly timeoutMs: number;
  readonly env?: { readonly [name: string]: string | undefined };
  /** Shows the address that the person has to open. */
  show(url: string): void;
}

/** Resolves when the login is stored. Throws a SluiceError if the person or the server refuses, or on a timeout. */
export async function login(
  name: string,
  config: McpServer,
  { timeoutMs, env = process.env, show }: LoginOptions,
): Promise<void> {
  const { url = '', oauth = {} } = config;
  await loadSdk();
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const expand = (text: string): string => expandText(text, { args: {}, result: null, env });
  const provider = new Login(oauth, new URL(url), expand, { redirectUrl, show: (page) => show(page.href) });
  try {
    const returned = comingBack(server, provider.state(), timeoutMs);
    // The request below can fail first. Its error is the one to show.
    returned.catch(() => undefined);
    const asked = { serverUrl: url, fetchFn: fetchFor(config, expand) };
    if ((await sdk().auth(provider, asked)) === 'AUTHORIZED') return;
    const { code, iss } = await returned;
    await sdk().auth(provider, { ...asked, authorizationCode: code, ...(iss === null ? {} : { iss }) });
  } catch (error) {
    throw new SluiceError(
      'mcp-unreachable',
      `the login to the MCP server \`${name}\` failed: ${reasonOf(error)}`,
      'Try again. Check the address of the server and your account there.',
      error,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Requests with another `state` are ignored: another page could have sent them. */
function comingBack(
  server: Server,
  state: string,
  timeoutMs: number,
): Promise<{ readonly code: string; readonly iss: string | null }> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no one logged in within ${timeoutMs / 1000} s`)), timeoutMs).unref();
    server.on('request', (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
      if (pathname !== '/callback' || searchParams.get('state') !== state) {
        response.writeHead(404).end();
        return;
      }
      const code = searchParams.get('code');
      const problem = searchParams.get('error_description') ?? searchParams.get('error');
      const text = code === null ? 'The login was refused.' : 'You are logged in. You can close this page.';
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${text}\n`);
      if (code === null) reject(new Error(`the authorization server refused: ${problem ?? 'no reason was given'}`));
      else resolve({ code, iss: searchParams.get('iss') });
    });
  });
}
