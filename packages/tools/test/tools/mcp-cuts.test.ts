/** MCP servers over HTTP whose connection breaks, that answer something else, or that start again with new sessions. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import type { EffectClass } from '@sluice-internal/kernel/ir';
import { tools } from './call.ts';
import type { Asking, Outcome } from './call.ts';
import { json, serve } from './http-server.ts';
import { goodServer } from './mcp-good-server.ts';

interface Message {
  readonly id?: number;
  readonly method: string;
}
type Answer = (response: ServerResponse, message: Message) => void;
const TOOL = { name: 'pay', inputSchema: { type: 'object' } };
const VERSION = '2025-06-18';
const OPENING: { readonly [method: string]: unknown } = {
  initialize: { protocolVersion: VERSION, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } },
  'tools/list': { tools: [TOOL] },
  ping: {},
};

/** A server that opens as it should. `answer` gets the calls. */
async function fake(answer: Answer): Promise<{ readonly url: string; readonly stop: () => void }> {
  const { port, seen, stop } = await serve((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(seen.at(-1)?.body ?? '') as Message;
    if (message.method === 'tools/call') return answer(response, message);
    if (message.id === undefined) return void response.writeHead(202).end();
    const result = OPENING[message.method];
    const body = result === undefined ? { error: { code: -32601, message: 'unknown method' } } : { result };
    return json(response, { jsonrpc: '2.0', id: message.id, ...body });
  });
  return { url: `http://127.0.0.1:${port}/mcp`, stop };
}

const status =
  (code: number, text: string): Answer =>
  (response) =>
    void response.writeHead(code, { 'content-type': 'text/plain' }).end(text);

const of = (url: string, effect: EffectClass, timeoutMs = 10_000): Asking => ({
  tool: { implementation: { mcp: 's/pay', server: { url } }, effect, timeoutMs },
});

async function calledBy(effect: EffectClass, answer: Answer, timeoutMs?: number): Promise<Outcome> {
  const { url } = await fake(answer);
  return tools().ask('s.pay', {}, of(url, effect, timeoutMs));
}

describe('a call that was sent and got no answer may have happened', () => {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 3, result: { content: [] } });
  const cuts: readonly (readonly [string, Answer])[] = [
    ['the connection is cut before the answer', (response) => response.destroy()],
    [
      'the body is cut, and its length says so',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
        response.write(text.slice(0, 20), () => response.destroy());
      },
    ],
    [
      'the body ends in the middle, and no length says so',
      (response) => {
        response.socket?.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${text.slice(0, 20)}`,
        );
      },
    ],
    ['the body is empty', (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end()],
    ['the body is JSON of another kind', (response) => json(response, { ok: true })],
    [
      'the body is a page',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi</p>'),
    ],
    ['the response is not HTTP', (response) => void response.socket?.end('what?\r\n\r\n')],
    ['a gateway lost the server', status(502, 'Bad Gateway')],
  ];

  test.each(cuts)('%s', async (_, answer) => {
    expect(await calledBy('write', answer)).toMatchObject({ ok: false, class: 'timeout', type: 'McpClosedError' });
    expect(await calledBy('read', answer)).toMatchObject({ ok: false, class: 'transient', type: 'McpClosedError' });
  });

  test.each<[string, Answer]>([
    ['in an event', (response) => response.write('event: message\ndata: {"jsonrpc"', () => response.destroy())],
    ['before the answer', (response) => void response.end(': nothing\n\n')],
  ])('the stream of events ends %s', async (_, rest) => {
    const answer: Answer = (response, message) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      rest(response, message);
    };
    expect(await calledBy('write', answer, 500)).toMatchObject({ ok: false, class: 'timeout', type: 'TimeoutError' });
  });
});

describe('a call that the server refused did not happen', () => {
  test.each<[number, string, string, string]>([
    [400, 'bad', 'fatal', 'McpError'],
    [401, 'who are you?', 'policy', 'McpError'],
    [403, 'no', 'policy', 'McpError'],
    [429, 'Rate limit exceeded', 'rate_limit', 'McpError'],
    [503, 'Connection limit exceeded', 'transient', 'McpError'],
    [504, 'Gateway Timeout', 'timeout', 'McpError'],
  ])('%i %s: %s', async (code, text, kind, type) => {
    expect(await calledBy('write', status(code, text))).toMatchObject({
      ok: false,
      class: kind,
      type,
      message: expect.stringMatching(new RegExp(`\\b${code}\\b.*${text.replace('?', '\\?')}`)),
    });
  });

  test('an error of the server about a limit is not a message that is too large', async () => {
    const answer: Answer = (response, { id }) =>
      json(response, { jsonrpc: '2.0', id, error: { code: -32000, message: 'Quota exceeded' } });
    expect(await calledBy('write', answer)).toMatchObject({
      class: 'semantic',
      type: 'McpError',
      message: expect.stringContaining('Quota exceeded'),
    });
  });

  test('a server that is gone before the call', async () => {
    const { url, stop } = await fake((response, { id }) =>
      json(response, { jsonrpc: '2.0', id, result: { content: [] } }),
    );
    const { ask } = tools();
    expect(await ask('s.pay', {}, of(url, 'write'))).toEqual({ ok: true, value: '' });
    stop();
    expect(await ask('s.pay', {}, of(url, 'write'))).toMatchObject({ ok: false, class: 'transient' });
  });
});

describe('a server that starts again', () => {
  test('no longer knows the session: the call is refused, and the next one opens a new session', async () => {
    const { url, restart } = await sessions();
    const { ask } = tools();
    const add = (): Promise<Outcome> =>
      ask('s.add', { a: 1, b: 2 }, { tool: { implementation: { mcp: 's/add', server: { url } }, effect: 'write' } });
    expect(await add()).toEqual({ ok: true, value: { sum: 3 } });
    restart();
    expect(await add()).toMatchObject({ ok: false, class: 'transient', type: 'McpClosedError' });
    expect(await add()).toEqual({ ok: true, value: { sum: 3 } });
  });
});

/** The server of the SDK with sessions. A restart forgets them. */
async function sessions(): Promise<{ readonly url: string; readonly restart: () => void }> {
  let known = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const answer = async (request: Request): Promise<Response> => {
    const id = request.headers.get('mcp-session-id');
    const open = id === null ? undefined : known.get(id);
    if (open !== undefined) return open.handleRequest(request);
    if (id !== null) return new Response('Session not found', { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void known.set(session, transport),
    });
    await goodServer().connect(transport);
    return transport.handleRequest(request);
  };
  const { port, seen } = await serve(({ url, method, headers }, response) => {
    const { body } = seen.at(-1) ?? { body: '' };
    const names = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const asked = { method, headers: names, ...(body === '' ? {} : { body }) };
    void answer(new Request(`http://localhost${url}`, asked)).then((given) => {
      response.writeHead(given.status, Object.fromEntries(given.headers));
      return given.body === null ? response.end() : Readable.fromWeb(given.body).pipe(response);
    });
  });
  return { url: `http://127.0.0.1:${port}/mcp`, restart: () => (known = new Map()) };
}
