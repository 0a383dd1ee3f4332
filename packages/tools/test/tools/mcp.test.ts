/** MCP servers: those that work, over both transports, and those that die, hang or lie. */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { tools } from './call.ts';
import type { Asking } from './call.ts';
import { DATA, goodServer } from './mcp-good-server.ts';
import { mcpProgram, type McpServerFile } from './mcp-program.ts';

const DATA_SHA256 = hash('sha256', DATA, 'hex');
const program = (file: McpServerFile, mode: string, env: { readonly [name: string]: string } = {}): Json =>
  mcpProgram(file, [mode], env);
const of = (server: Json, tool: string, timeoutMs = 10_000): Asking => ({
  tool: { implementation: { mcp: `s/${tool}`, server }, timeoutMs },
});

describe('a server that works', () => {
  const good = program('mcp-good-server.ts', 'serve');

  test('gives structured content, text, or a file', async () => {
    const { ask } = tools();
    expect(await ask('s.add', { a: 1, b: 2 }, of(good, 'add'))).toEqual({ ok: true, value: { sum: 3 } });
    expect(await ask('s.echo', { text: 'hé' }, of(good, 'echo'))).toEqual({ ok: true, value: 'hé' });
    expect(await ask('s.picture', {}, of(good, 'picture'))).toEqual({
      ok: true,
      value: {
        content: [
          { type: 'text', text: 'a' },
          {
            type: 'image',
            mimeType: 'image/png',
            path: 'attachments/709e80c88487a241.png',
            bytes: 3,
            sha256: '709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c',
          },
        ],
      },
    });
  });

  test('gives base64 in structured content and in text as a file', async () => {
    const { ask } = tools();
    const file = (extension: string): string =>
      JSON.stringify({ path: `attachments/${DATA_SHA256.slice(0, 16)}.${extension}`, bytes: 900, sha256: DATA_SHA256 });
    expect(await ask('s.report', {}, of(good, 'report'))).toEqual({
      ok: true,
      value: { pages: [{ mimeType: 'application/zip', data: file('zip'), title: 'a' }] },
    });
    expect(await ask('s.dump', {}, of(good, 'dump'))).toEqual({ ok: true, value: file('bin') });
  });

  test('says what failed', async () => {
    const { ask } = tools();
    expect(await ask('s.fails', {}, of(good, 'fails'))).toMatchObject({
      ok: false,
      class: 'fatal',
      type: 'McpToolError',
      message: expect.stringContaining('no such order'),
    });
    expect(await ask('s.add', { a: 'x' }, of(good, 'add'))).toMatchObject({ ok: false });
    expect(await ask('s.nope', {}, of(good, 'nope'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'UnknownToolError',
    });
  });

  test('gets the environment that it was given, and not ours', async () => {
    process.env['SLUICE_TEST_SECRET'] = 'do-not-leak';
    onTestFinished(() => void delete process.env['SLUICE_TEST_SECRET']);
    const { ask } = tools({ env: { KEY: 'k' } });
    const server = program('mcp-good-server.ts', 'serve', { GIVEN: '{{env.KEY}}' });
    expect(await ask('s.env', { name: 'GIVEN' }, of(server, 'env'))).toEqual({ ok: true, value: 'k' });
    expect(await ask('s.env', { name: 'SLUICE_TEST_SECRET' }, of(server, 'env'))).toEqual({ ok: true, value: 'unset' });
    const lacking = program('mcp-good-server.ts', 'serve', { GIVEN: '{{env.ABSENT}}' });
    expect(await ask('s.env', { name: 'GIVEN' }, of(lacking, 'env'))).toMatchObject({
      class: 'fatal',
      type: 'NotConfiguredError',
    });
  });

  test('may be used for the tools that the document lists, with any others that it has', async () => {
    const { ask } = tools();
    const server: Json = { ...mcpProgram('mcp-good-server.ts', ['serve']), tools: ['echo'] };
    expect(await ask('s.add', { a: 1, b: 2 }, of(server, 'add'))).toMatchObject({
      ok: false,
      class: 'policy',
      type: 'McpToolError',
    });
  });

  test('is called over HTTP with the headers that it needs', async () => {
    const handler = createMcpHandler(goodServer);
    const seen: IncomingMessage['headers'][] = [];
    const http = createServer((request, response) => {
      seen.push(request.headers);
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', () => {
        const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          value === undefined ? [] : [[name, String(value)]],
        );
        const asked = new Request(`http://localhost${request.url}`, {
          method: request.method,
          headers,
          ...(body.length === 0 ? {} : { body: Buffer.concat(body) }),
        });
        void handler
          .fetch(asked)
          .then(async (answer) =>
            response
              .writeHead(answer.status, Object.fromEntries(answer.headers))
              .end(Buffer.from(await answer.arrayBuffer())),
          );
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    await new Promise((resolve) => http.once('listening', resolve));
    const { ask } = tools({ env: { TOKEN: 't' } });
    const server: Json = {
      url: `http://127.0.0.1:${(http.address() as { port: number }).port}/mcp`,
      headers: { authorization: 'Bearer {{env.TOKEN}}' },
    };
    expect(await ask('s.add', { a: 2, b: 2 }, of(server, 'add'))).toEqual({ ok: true, value: { sum: 4 } });
    expect(await ask('s.huge', {}, of(server, 'huge'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'TooLargeError',
    });
    expect(await ask('s.add', { a: 2, b: 3 }, of(server, 'add'))).toEqual({ ok: true, value: { sum: 5 } });
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer t']));
  });

  test('without a server at its HTTP address is a transient failure', async () => {
    const { ask } = tools();
    expect(await ask('s.add', {}, of({ url: 'http://127.0.0.1:1/mcp' }, 'add'))).toMatchObject({
      ok: false,
      class: 'transient',
      type: 'McpStartError',
    });
  });
});

describe('a server that does not', () => {
  const bad = program('mcp-bad-server.ts', 'serve');

  test('dies: the call fails, and the next one finds a new server', async () => {
    const { ask } = tools();
    const before = await ask('s.ok', {}, of(bad, 'ok'));
    expect(await ask('s.ok', {}, of(bad, 'ok'))).toEqual(before);
    // A call that writes may have happened.
    expect(await ask('s.dies', {}, of(bad, 'dies'))).toMatchObject({
      ok: false,
      class: 'timeout',
      type: 'McpClosedError',
      message: expect.stringContaining('out of cheese'),
    });
    const after = await ask('s.ok', {}, of(bad, 'ok'));
    expect(after).toMatchObject({ ok: true });
    expect(after).not.toEqual(before);
  });

  test('hangs in one call: that call ends, the others go on', async () => {
    const { ask } = tools();
    const before = await ask('s.ok', {}, of(bad, 'ok'));
    expect(await ask('s.hangs', {}, of(bad, 'hangs', 300))).toMatchObject({
      ok: false,
      class: 'timeout',
      type: 'TimeoutError',
    });
    expect(await ask('s.ok', {}, of(bad, 'ok'))).toEqual(before);
  });

  test('hangs altogether: it is given up, and the next call finds a new one', async () => {
    const { ask } = tools();
    const stuck = program('mcp-bad-server.ts', 'stuck');
    const before = await ask('s.ok', {}, of(stuck, 'ok'));
    expect(await ask('s.hangs', {}, of(stuck, 'hangs', 300))).toMatchObject({
      ok: false,
      class: 'timeout',
      type: 'TimeoutError',
    });
    const after = await ask('s.ok', {}, of(stuck, 'ok'));
    expect(after).toMatchObject({ ok: true });
    expect(after).not.toEqual(before);
  });

  test('is stopped after an abort', async () => {
    const { ask } = tools();
    const controller = new AbortController();
    await ask('s.ok', {}, of(bad, 'ok'));
    const outcome = ask('s.hangs', {}, { ...of(bad, 'hangs'), signal: controller.signal });
    controller.abort();
    expect(await outcome).toMatchObject({ ok: false, class: 'timeout' });
  });

  test('stays when its input ends, behind another program such as npx: it is ended', { timeout: 60_000 }, async () => {
    const { ask, performer } = tools();
    const { command, args, env } = mcpProgram('mcp-bad-server.ts', ['stays']);
    const behind = { command: 'sh', args: ['-c', '"$@"; true', 'sh', command, ...args], env };
    const { value } = (await ask('s.ok', {}, of(behind, 'ok'))) as { value: string };
    const commandLine = `/proc/${value.replace('pid ', '')}/cmdline`;
    expect(readFileSync(commandLine, 'latin1')).toContain('stays');
    await performer.close();
    const lives = (): boolean => existsSync(commandLine) && readFileSync(commandLine, 'latin1') !== '';
    await expect.poll(lives, { timeout: 20_000 }).toBe(false);
  });

  test('never says a word, or is not there', async () => {
    const { ask } = tools();
    expect(await ask('s.ok', {}, of(program('mcp-bad-server.ts', 'silent'), 'ok', 500))).toMatchObject({
      ok: false,
      class: 'timeout',
      type: 'TimeoutError',
    });
    expect(await ask('s.ok', {}, of({ command: 'no-such-program' }, 'ok'))).toMatchObject({
      ok: false,
      class: 'transient',
      type: 'McpStartError',
    });
    expect(await ask('s.ok', {}, of(program('mcp-bad-server.ts', 'dies-at-once'), 'ok'))).toMatchObject({
      ok: false,
      class: 'transient',
      type: 'McpStartError',
      message: expect.stringContaining('missing configuration'),
    });
  });

  test('lies about what it gives', async () => {
    const { ask } = tools();
    expect(await ask('s.lies', {}, of(bad, 'lies'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'McpResultError',
      ran: true,
    });
    expect(await ask('s.malformed', {}, of(bad, 'malformed'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'McpResultError',
      ran: true,
    });
    expect(await ask('s.refuses', {}, of(bad, 'refuses'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'McpError',
      message: expect.stringContaining('bad params'),
    });
    expect(await ask('s.noise', {}, of(bad, 'noise'))).toEqual({ ok: true, value: 'after the noise' });
  });

  test('has a pattern that makes other engines backtrack, or that cannot run in linear time', async () => {
    const { ask } = tools();
    const started = performance.now();
    expect(await ask('s.slow', {}, of(bad, 'slow_pattern'))).toMatchObject({ ok: false, type: 'McpResultError' });
    expect(performance.now() - started).toBeLessThan(40_000);
    expect(await ask('s.odd', {}, of(bad, 'odd_pattern'))).toEqual({ ok: true, value: { a: 'a' } });
  });

  test('gives 50 MB', async () => {
    const { ask } = tools();
    expect(await ask('s.huge', {}, of(bad, 'huge', 20_000))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'TooLargeError',
      ran: true,
    });
    expect(await ask('s.ok', {}, of(bad, 'ok'))).toMatchObject({ ok: true });
  });
});
