/** Connects to one MCP server, over standard input and output or over HTTP, and lists its tools. */
import type { ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type {
  Client,
  ElicitRequest,
  ElicitResult,
  JsonSchemaType,
  JsonSchemaValidator,
  StreamableHTTPClientTransport,
  Tool,
  jsonSchemaValidator,
} from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { usableSchema } from '@sluice-internal/kernel/catalog';
import type { McpTool } from '@sluice-internal/kernel/catalog';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { redactValue } from '@sluice-internal/platform';
import { pure } from '@sluice-internal/engine/ports';
import { Output } from '../calls/output.ts';
import { endDescendants } from '../calls/process.ts';
import { expandText, secretsFor } from '../calls/template.ts';
import type { McpServer, ToolOptions } from '../calls/tool.ts';
import { MESSAGE_MAX, fetchFor } from './guarded-fetch.ts';
import { authProviderOf } from './oauth.ts';
import { loadSdk, sdk } from './sdk.ts';

export interface Connection {
  readonly client: Client;
  /** The tools of the server now: it can announce that they have changed. */
  readonly tools: () => Promise<ReadonlyMap<string, McpTool>>;
  /** The errors that the server printed, without secrets. */
  readonly stderr: () => string;
  /** Removes the secrets that the server was given. A text is cut after this: the rest of a cut secret is not found. */
  readonly clean: (text: string) => string;
  /** The last error that the transport reported. */
  fault: Error | null;
}
export interface ConnectOptions {
  readonly documentDir: string;
  /** The folder that the server gets as its only root. */
  readonly workDir: string;
  readonly env: NonNullable<ToolOptions['env']>;
  readonly http?: ToolOptions['http'];
  readonly timeoutMs: number;
  readonly onClose: () => void;
  readonly onElicit: (request: ElicitRequest['params']) => ElicitResult;
}
type Transport = StdioClientTransport | StreamableHTTPClientTransport;

/** Bytes. */
const STDERR_MAX = 4 * 1024;
const PROBE_MS = 2_000;
/** A server that asks for the roots applies them after it has answered other requests. The first call waits for it. */
const ROOTS_MS = 300;
/** Tools that read the resources of a server. A server can have tools of these names itself. */
export const LIST_RESOURCES = 'list_resources';
export const READ_RESOURCE = 'read_resource';
/** Marks the two tools as ours: a tool of the server has another object. */
export const RESOURCE_HINTS: McpTool['annotations'] = { readOnlyHint: true };

export async function connect(config: McpServer, options: ConnectOptions): Promise<Connection> {
  const { timeoutMs } = options;
  await loadSdk();
  const output = new Output(STDERR_MAX);
  const secrets = secretsFor(config, options.env);
  const clean = (text: string): string => redactValue(text, secrets);
  const stderr = (): string => clean(output.text()).trim();
  let asksForRoots = false;
  const client = createClient(options, () => (asksForRoots = true));
  const limits = { timeout: timeoutMs, maxTotalTimeout: timeoutMs };
  try {
    await client.connect(transportOf(config, options, output), limits);
    let listed: Promise<Map<string, McpTool>> | null = null;
    client.setNotificationHandler('notifications/tools/list_changed', () => void (listed = null));
    // A change that is announced while the list is read counts for the next call. A failed list is read again.
    const tools = async (): Promise<Map<string, McpTool>> => {
      const asked = (listed ??= toolsOf(client, limits));
      try {
        return await asked;
      } catch (error) {
        if (listed === asked) listed = null;
        throw error;
      }
    };
    await tools();
    if (asksForRoots) await sleep(ROOTS_MS);
    const connection: Connection = { client, tools, stderr, clean, fault: null };
    Object.assign(client, { onerror: (error: Error) => (connection.fault = error) });
    return connection;
  } catch (error) {
    await client.close().catch(() => undefined);
    const printed = stderr().slice(-300);
    throw new Error(`it could not be started or reached${printed === '' ? '' : ` (its output: ${printed})`}`, {
      cause: error,
    });
  }
}

async function toolsOf(client: Client, limits: { timeout: number }): Promise<Map<string, McpTool>> {
  const { tools } = await client.listTools(undefined, limits);
  const found = [...tools.map(toolOf), ...(client.getServerCapabilities()?.resources === undefined ? [] : RESOURCES)];
  return new Map(found.toReversed().map((tool) => [tool.name, tool]));
}

function createClient({ timeoutMs, workDir, onClose, onElicit }: ConnectOptions, onRoots: () => void): Client {
  const client = new (sdk().Client)(
    { name: 'sluice', version: '1' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(PROBE_MS, timeoutMs) } },
      capabilities: { roots: {}, elicitation: { form: {} } },
      jsonSchemaValidator: linearValidator,
    },
  );
  client.setRequestHandler('roots/list', () => {
    onRoots();
    return { roots: [{ uri: pathToFileURL(resolve(workDir)).href, name: 'work directory' }] };
  });
  client.setRequestHandler('elicitation/create', ({ params }) => onElicit(params));
  Object.assign(client, {
    onclose: onClose,
    fallbackRequestHandler: ({ method }: { method: string }) =>
      Promise.reject(new Error(`Sluice refuses \`${method}\`: a server cannot use the models or tools of a run`)),
  });
  return client;
}

function transportOf(config: McpServer, { documentDir, env, http }: ConnectOptions, stderr: Output): Transport {
  const expand = (text: string): string => expandText(text, { args: {}, result: null, env });
  const expanded = (values: { readonly [name: string]: string } = {}): { [name: string]: string } =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expand(value)]));
  if (config.url !== undefined)
    return new (sdk().StreamableHTTPClientTransport)(new URL(config.url), {
      requestInit: { headers: expanded(config.headers) },
      fetch: fetchFor(config, expand, http),
      ...(config.oauth === undefined
        ? {}
        : { authProvider: authProviderOf(config.oauth, new URL(config.url), expand) }),
    });
  const transport = new (sdk().StdioClientTransport)({
    command: config.command ?? '',
    args: [...(config.args ?? [])],
    env: { ...sdk().getDefaultEnvironment(), ...expanded(config.env) },
    cwd: resolve(documentDir, config.cwd ?? '.'),
    stderr: 'pipe',
    maxBufferSize: MESSAGE_MAX,
  });
  transport.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  gatherLines(transport);
  closeWhole(transport);
  return transport;
}

/**
 * Ends the programs that the server started too, such as the server behind `npx`. One that stays keeps its end of the pipes,
 * which must not keep this process alive.
 */
function closeWhole(transport: StdioClientTransport): void {
  const close = transport.close.bind(transport);
  transport.close = async () => {
    const { _process: child } = transport as unknown as { readonly _process?: ChildProcess };
    const endRest = endDescendants(transport.pid);
    await close();
    endRest();
    child?.stdout?.destroy();
    child?.stderr?.destroy();
  };
}

/**
 * Joins the chunks of a long line once. The SDK would copy all earlier chunks with each new one, and block the engine for
 * seconds. A later release without this field reads as it does by itself.
 */
function gatherLines(transport: object): void {
  const { _readBuffer: buffer } = transport as { readonly _readBuffer?: { append(chunk: Buffer): void } };
  if (typeof buffer?.append !== 'function') return;
  const append = buffer.append.bind(buffer);
  let [chunks, size]: [Buffer[], number] = [[], 0];
  buffer.append = (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= MESSAGE_MAX && !chunk.includes(LINE_END)) return;
    const line = Buffer.concat(chunks);
    [chunks, size] = [[], 0];
    append(line);
  };
}

const LINE_END = 10;

function toolOf({ name, description = '', inputSchema, outputSchema, annotations = {} }: Tool): McpTool {
  return {
    name,
    description,
    input: plain(inputSchema),
    output: outputSchema === undefined ? true : plain(outputSchema),
    annotations: plain(annotations) as McpTool['annotations'],
  };
}

const RESOURCES: readonly McpTool[] = [
  {
    name: LIST_RESOURCES,
    description: 'Lists the resources of the server: `uri`, name and description of each.',
    input: { type: 'object', properties: { cursor: { type: 'string' } } },
    output: true,
    annotations: RESOURCE_HINTS,
  },
  {
    name: READ_RESOURCE,
    description: 'Reads one resource of the server.',
    input: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    output: true,
    annotations: RESOURCE_HINTS,
  },
];

function plain(value: unknown): Json {
  return parseJson(JSON.stringify(value));
}

/** Checks results against the output schema of a tool. */
const linearValidator: jsonSchemaValidator = {
  getValidator: <T>(schema: JsonSchemaType): JsonSchemaValidator<T> => {
    const usable = usableSchema(schema as Json);
    return (input) => {
      const problem = pure.validate(usable, input as Json);
      return problem === null
        ? { valid: true, data: input as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: problem };
    };
  },
};
