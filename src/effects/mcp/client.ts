/**
 * Tools of MCP servers, over standard input and output or over HTTP. A server starts with the first call and serves all
 * calls. A server that dies is started again by the next call; one that no longer answers is ended. The document decides
 * the effect of a tool, not the hints of the server.
 */
import { resolve } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { Json } from '../../expr/json.ts';
import { Output } from '../tools/output.ts';
import { expandText } from '../tools/template.ts';
import { fail } from '../tools/tool.ts';
import type { McpServer, ToolCall, ToolKind, ToolOptions } from '../tools/tool.ts';
import { failureOfServer, isClosed, isTimeout, valueOf } from './result.ts';
import { linearValidator } from './schema.ts';

interface Connection {
  readonly client: Client;
  readonly tools: ReadonlySet<string>;
  readonly stderr: Output;
  /** The last error that the transport reported. */
  fault: Error | null;
}
type Environment = NonNullable<ToolOptions['env']>;

/** Bytes. The SDK copies a message chunk by chunk, so a larger one would block the engine. */
const MESSAGE_MAX = 8 * 1024 * 1024;
const STDERR_MAX = 4 * 1024;
const CONNECT_MAX_MS = 15_000;
const PROBE_MS = 2_000;
const PING_MS = 1_000;

export function mcpTools(options: ToolOptions): ToolKind {
  const servers = new McpServers(options);
  return {
    /** A server and a tool, such as `files/read`. */
    declared: (reference, { server = {} }) => {
      const [, name = '', tool = ''] = /^([^/]*)\/(.*)$/s.exec(String(reference)) ?? [];
      return (call) => servers.call(name, server as McpServer, tool, call);
    },
    close: () => servers.close(),
  };
}

class McpServers {
  readonly #documentDir: string;
  readonly #mcp: { readonly [server: string]: McpServer };
  readonly #env: Environment;
  readonly #connections = new Map<string, Promise<Connection>>();

  constructor({ documentDir = '.', mcp = {}, env = process.env }: ToolOptions) {
    this.#documentDir = documentDir;
    this.#mcp = mcp;
    this.#env = env;
  }

  async call(server: string, declared: McpServer, tool: string, call: ToolCall): Promise<Json> {
    const config = { ...declared, ...this.#mcp[server] };
    if (config.tools !== undefined && !config.tools.includes(tool))
      throw fail('policy', 'McpToolError', `\`tools\` of the MCP server \`${server}\` does not list \`${tool}\``);
    const timeoutMs = Math.min(call.timeoutMs, (config.timeout ?? Infinity) * 1000);
    const documentDir = call.call.pins?.documentDir ?? this.#documentDir;
    const key = JSON.stringify([server, config, documentDir]);
    let connection: Connection | undefined;
    try {
      connection = await this.#connected(key, config, documentDir, timeoutMs);
      if (!connection.tools.has(tool))
        throw fail('semantic', 'UnknownToolError', `the MCP server \`${server}\` has no tool \`${tool}\``);
      const result = await connection.client.callTool(
        { name: tool, arguments: { ...call.args } },
        { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal: call.signal },
      );
      return valueOf(server, tool, result);
    } catch (error) {
      const hangs = isTimeout(error) && !(await answersPing(connection));
      if (hangs || isClosed(error)) await this.#drop(key);
      throw failureOfServer(server, tool, error, {
        timeoutMs,
        stderr: connection?.stderr.text() ?? '',
        fault: connection?.fault ?? null,
      });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.keys()].map((key) => this.#drop(key)));
  }

  #connected(key: string, config: McpServer, documentDir: string, timeoutMs: number): Promise<Connection> {
    const known = this.#connections.get(key);
    if (known !== undefined) return known;
    const forget = (): void => void this.#connections.delete(key);
    const stderr = new Output(STDERR_MAX);
    const transport = (): Transport => transportOf(config, documentDir, this.#env, stderr);
    const connection = connect(transport, Math.min(timeoutMs, CONNECT_MAX_MS), stderr, forget);
    this.#connections.set(key, connection);
    connection.catch(forget);
    return connection;
  }

  async #drop(key: string): Promise<void> {
    const connection = this.#connections.get(key);
    this.#connections.delete(key);
    await connection?.then(({ client }) => client.close()).catch(() => undefined);
  }
}

type Transport = StdioClientTransport | StreamableHTTPClientTransport;

async function connect(
  transport: () => Transport,
  timeoutMs: number,
  stderr: Output,
  onClose: () => void,
): Promise<Connection> {
  const client = new Client(
    { name: 'sluice', version: '1' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(PROBE_MS, timeoutMs) } },
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: linearValidator,
    },
  );
  Object.assign(client, { onclose: onClose });
  const limits = { timeout: timeoutMs, maxTotalTimeout: timeoutMs };
  try {
    await client.connect(transport(), limits);
    const { tools } = await client.listTools(undefined, limits);
    const connection: Connection = { client, tools: new Set(tools.map(({ name }) => name)), stderr, fault: null };
    Object.assign(client, { onerror: (error: Error) => (connection.fault = error) });
    return connection;
  } catch (error) {
    await client.close().catch(() => undefined);
    const output = stderr.text().trim().slice(-300);
    throw new Error(`it could not be started or reached${output === '' ? '' : ` (its output: ${output})`}`, {
      cause: error,
    });
  }
}

function transportOf(config: McpServer, documentDir: string, env: Environment, stderr: Output): Transport {
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

/** Breaks off a response that is larger than a message may be. */
const cappedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (init?.method !== 'POST' || response.body === null) return response;
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      size += chunk.length;
      if (size > MESSAGE_MAX) controller.error(new Error(`the response exceeds ${MESSAGE_MAX} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
};

/** False if the server hangs as a whole, and not just in one call. */
async function answersPing(connection: Connection | undefined): Promise<boolean> {
  if (connection === undefined) return false;
  return connection.client.ping({ timeout: PING_MS }).then(
    () => true,
    () => false,
  );
}
