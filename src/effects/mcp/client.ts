/**
 * Tools of MCP servers, over standard input and output or over HTTP. A server is started when it is first needed and
 * shared by all calls; one that dies is started again by the next call, and one that hangs is given up. What a server says
 * of itself is a hint: what a call may do is decided by the document.
 */
import { resolve } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { Json } from '../../expr/json.ts';
import type { McpServer, ToolCall, ToolOptions } from '../tools/tool.ts';
import { fail } from '../tools/tool.ts';
import { failureOfServer, isGone, isTimeout } from './result.ts';
import { valueOf } from './result.ts';
import { Output } from '../tools/output.ts';
import { expandText } from '../tools/template.ts';

export interface McpServers {
  call(server: string, config: McpServer, tool: string, call: ToolCall): Promise<Json>;
  close(): Promise<void>;
}
interface Connection {
  readonly client: Client;
  readonly tools: ReadonlySet<string>;
  readonly stderr: Output;
  /** What was wrong with the transport last. */
  fault: Error | null;
}

/** A message is put together from chunks by copying, so a large one would hold up the engine. */
const MESSAGE_MAX = 8 * 1024 * 1024;
const CONNECT_MAX_MS = 15_000;
const PROBE_MS = 2_000;
const PING_MS = 1_000;

export function mcpServers({
  documentDir = '.',
  mcp = {},
  env = process.env,
}: Omit<ToolOptions, 'workDir'>): McpServers {
  const connections = new Map<string, Promise<Connection>>();
  const drop = async (key: string): Promise<void> => {
    const connection = connections.get(key);
    connections.delete(key);
    await connection?.then(({ client }) => client.close()).catch(() => undefined);
  };

  const connected = (key: string, config: McpServer, timeoutMs: number): Promise<Connection> => {
    let connection = connections.get(key);
    if (connection === undefined) {
      connection = connect(config, documentDir, env, Math.min(timeoutMs, CONNECT_MAX_MS), () =>
        connections.delete(key),
      );
      connections.set(key, connection);
      connection.catch(() => connections.delete(key));
    }
    return connection;
  };

  return {
    call: async (server, declared, tool, { args, timeoutMs: callMs, signal }) => {
      const config = { ...declared, ...mcp[server] };
      if (config.tools !== undefined && !config.tools.includes(tool))
        throw fail(
          'policy',
          'McpToolError',
          `the tool \`${tool}\` of the MCP server \`${server}\` is not among those that may be used`,
        );
      const timeoutMs = Math.min(callMs, (config.timeout ?? Infinity) * 1000);
      const key = JSON.stringify([server, config]);
      let connection: Connection | undefined;
      try {
        connection = await connected(key, config, timeoutMs);
        if (!connection.tools.has(tool))
          throw fail('semantic', 'UnknownToolError', `the MCP server \`${server}\` has no tool \`${tool}\``);
        const result = await connection.client.callTool(
          { name: tool, arguments: { ...args } },
          { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal },
        );
        return valueOf(server, tool, result);
      } catch (error) {
        const hangs = isTimeout(error) && !(await answers(connection));
        if (hangs || isGone(error)) await drop(key);
        throw failureOfServer(server, tool, error, {
          timeoutMs,
          stderr: connection?.stderr.text() ?? '',
          fault: connection?.fault ?? null,
        });
      }
    },
    close: async () => {
      await Promise.all([...connections.keys()].map(drop));
    },
  };
}

async function connect(
  config: McpServer,
  documentDir: string,
  env: NonNullable<ToolOptions['env']>,
  timeoutMs: number,
  onClose: () => void,
): Promise<Connection> {
  const stderr = new Output(4 * 1024);
  const client = new Client(
    { name: 'sluice', version: '1' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(PROBE_MS, timeoutMs) } },
      inputRequired: { autoFulfill: false },
    },
  );
  Object.assign(client, { onclose: onClose });
  try {
    await client.connect(transportOf(config, documentDir, env, stderr), {
      timeout: timeoutMs,
      maxTotalTimeout: timeoutMs,
    });
    const { tools } = await client.listTools(undefined, { timeout: timeoutMs, maxTotalTimeout: timeoutMs });
    const connection: Connection = { client, tools: new Set(tools.map(({ name }) => name)), stderr, fault: null };
    Object.assign(client, { onerror: (error: Error) => (connection.fault = error) });
    return connection;
  } catch (error) {
    await client.close().catch(() => undefined);
    throw new Error(
      `it could not be started or reached${stderr.text() === '' ? '' : ` (it said: ${stderr.text().trim().slice(-300)})`}`,
      { cause: error },
    );
  }
}

function transportOf(
  config: McpServer,
  documentDir: string,
  env: NonNullable<ToolOptions['env']>,
  stderr: Output,
): StdioClientTransport | StreamableHTTPClientTransport {
  const expanded = (values: { readonly [name: string]: string } = {}): { [name: string]: string } =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, expandText(value, { args: {}, result: null, env })]),
    );
  if (config.url !== undefined)
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: expanded(config.headers) },
      fetch: cappedFetch,
    });
  const transport = new StdioClientTransport({
    command: config.command ?? '',
    args: [...(config.args ?? [])],
    env: { ...getDefaultEnvironment(), ...expanded(config.env) },
    cwd: resolve(documentDir, config.cwd ?? '.'),
    stderr: 'pipe',
    maxBufferSize: MESSAGE_MAX,
  });
  transport.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  return transport;
}

/** An answer that grows beyond what a message may have breaks off. */
const cappedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (init?.method !== 'POST' || response.body === null) return response;
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      size += chunk.length;
      if (size > MESSAGE_MAX) controller.error(new Error(`the answer exceeds ${MESSAGE_MAX} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
};

/** Whether a server that kept one call waiting is still there for others. */
async function answers(connection: Connection | undefined): Promise<boolean> {
  if (connection === undefined) return false;
  return connection.client.ping({ timeout: PING_MS }).then(
    () => true,
    () => false,
  );
}
