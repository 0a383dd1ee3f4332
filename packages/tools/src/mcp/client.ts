/**
 * Tools of MCP servers. A server starts with the first call and serves all calls of a work directory. A server that dies is
 * started again by the next call; one that no longer answers is ended.
 */
import { changedParts } from '@sluice-internal/kernel/catalog';
import type { McpTool } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { fail, failUnsent } from '@sluice-internal/engine/ports';
import { createFolder, refusedResult } from '@sluice-internal/platform';
import { classUnanswered, type McpServer, type ToolCall, type ToolKind, type ToolOptions } from '../calls/tool.ts';
import {
  LIST_RESOURCES,
  READ_RESOURCE,
  RESOURCE_HINTS,
  connect,
  type Connection,
  type ConnectOptions,
} from './connect.ts';
import { Elicitations } from './elicit.ts';
import { failureOfServer, isAnswered, isClosed, isSessionLost, isTimeout } from './failure.ts';
import { resourceValue, valueOf } from './result.ts';

interface Open {
  readonly connection: Promise<Connection>;
  readonly elicitations: Elicitations;
  calls: number;
  idle?: NodeJS.Timeout;
}
interface Target {
  readonly server: string;
  readonly tool: string;
  readonly config: McpServer;
  readonly locked: McpTool | undefined;
}

const CONNECT_MAX_MS = 15_000;
const PING_MS = 1_000;
/** A server without calls is ended after this time. */
const IDLE_MS = 10 * 60_000;

export function mcpTools(options: ToolOptions): ToolKind {
  const servers = new McpServers(options);
  return {
    /** A server and a tool, such as `files/read`. */
    declared: (reference, { server: declared = {}, locked }) => {
      const [, server = '', tool = ''] = /^([^/]*)\/(.*)$/s.exec(String(reference)) ?? [];
      const config = { ...(declared as McpServer), ...options.mcp?.[server] };
      return (call) => servers.call({ server, tool, config, locked: locked as unknown as McpTool | undefined }, call);
    },
    close: () => servers.close(),
  };
}

class McpServers {
  readonly #documentDir: string;
  readonly #env: NonNullable<ToolOptions['env']>;
  readonly #http: ToolOptions['http'];
  readonly #open = new Map<string, Open>();

  constructor({ documentDir = '.', env = process.env, http }: ToolOptions) {
    this.#documentDir = documentDir;
    this.#env = env;
    this.#http = http;
  }

  async call(target: Target, call: ToolCall): Promise<Json> {
    const { server, tool, config } = target;
    if (config.tools !== undefined && !config.tools.includes(tool))
      throw fail('policy', 'McpToolError', `\`tools\` of the MCP server \`${server}\` does not list \`${tool}\``);
    const timeoutMs = Math.min(call.timeoutMs, (config.timeout ?? Infinity) * 1000);
    const documentDir = call.call.pins?.documentDir ?? this.#documentDir;
    const key = JSON.stringify([server, config, documentDir, call.workDir]);
    let connection: Connection | undefined;
    const open = this.#opened(key, config, { documentDir, workDir: call.workDir }, timeoutMs);
    open.calls += 1;
    clearTimeout(open.idle);
    try {
      const opened = (connection = await open.connection);
      const found = requireUnchanged(target, (await connection.tools()).get(tool));
      return await open.elicitations.during(target, call, () => perform(target, found, opened, call, timeoutMs));
    } catch (error) {
      const hangs = isTimeout(error) && !(await answersPing(connection));
      if (hangs || isClosed(error) || isSessionLost(error)) await this.#drop(key, open);
      throw failedCall(target, call, error, timeoutMs, connection);
    } finally {
      open.calls -= 1;
      if (open.calls === 0) open.idle = setTimeout(() => void this.#drop(key, open), IDLE_MS).unref();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(([key, open]) => this.#drop(key, open)));
  }

  #opened(
    key: string,
    config: McpServer,
    folders: Pick<ConnectOptions, 'documentDir' | 'workDir'>,
    timeoutMs: number,
  ): Open {
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const elicitations = new Elicitations();
    const forget = (): void => this.#forget(key, open);
    const connected = async (): Promise<Connection> => {
      createFolder(folders.workDir);
      return connect(config, {
        ...folders,
        env: this.#env,
        ...present({ http: this.#http }),
        timeoutMs: Math.min(timeoutMs, CONNECT_MAX_MS),
        onClose: forget,
        onElicit: (request) => elicitations.answer(request),
      });
    };
    const open: Open = { connection: connected(), elicitations, calls: 0 };
    open.connection.catch(forget);
    this.#open.set(key, open);
    return open;
  }

  async #drop(key: string, open: Open): Promise<void> {
    this.#forget(key, open);
    clearTimeout(open.idle);
    await open.connection.then(({ client }) => client.close()).catch(() => undefined);
  }

  /** A newer connection stays. */
  #forget(key: string, open: Open): void {
    if (this.#open.get(key) === open) this.#open.delete(key);
  }
}

/** Throws if the server has no such tool, or if the tool differs from the one that the run was compiled with. */
function requireUnchanged({ server, tool, locked }: Target, found: McpTool | undefined): McpTool {
  if (found === undefined)
    throw failUnsent('semantic', 'UnknownToolError', `the MCP server \`${server}\` has no tool \`${tool}\``);
  const changed = locked === undefined ? [] : changedParts(locked, found);
  if (changed.length === 0) return found;
  throw failUnsent(
    'policy',
    'McpChangedError',
    `the tool \`${tool}\` of the MCP server \`${server}\` has changed since it was locked: ${changed.join(', ')}`,
  );
}

/** Without a connection, the server could not be started or reached. The call took effect even if its answer cannot be used. */
function failedCall(
  { server, tool }: Target,
  call: ToolCall,
  error: unknown,
  timeoutMs: number,
  connection: Connection | undefined,
): Error {
  if (connection === undefined) return failureOfServer(server, tool, error, timeoutMs, null);
  const sent = {
    stderr: connection.stderr(),
    fault: connection.fault,
    unanswered: classUnanswered(call),
    clean: call.clean,
  };
  const failure = failureOfServer(server, tool, error, timeoutMs, sent);
  return isAnswered(failure) ? refusedResult(call.call, failure) : failure;
}

async function perform(
  { server, tool }: Target,
  { annotations: own }: McpTool,
  { client, clean }: Connection,
  call: ToolCall,
  timeoutMs: number,
): Promise<Json> {
  const options = { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal: call.signal };
  if (own === RESOURCE_HINTS && tool === LIST_RESOURCES)
    return (await client.listResources({ ...call.args }, options)) as unknown as Json;
  if (own === RESOURCE_HINTS && tool === READ_RESOURCE)
    return resourceValue(await client.readResource({ uri: String(call.args['uri']) }, options), call);
  const onprogress = (progress: { progress: number; total?: number; message?: string }): void =>
    call.call.onText?.(clean(progressLine(progress)));
  const result = await client.callTool({ name: tool, arguments: { ...call.args } }, { ...options, onprogress });
  return valueOf(server, tool, result, call).catch((error: unknown) => {
    throw result.isError === true ? error : refusedResult(call.call, error);
  });
}

function progressLine({ progress, total, message }: { progress: number; total?: number; message?: string }): string {
  const amount = total === undefined ? String(progress) : `${progress} of ${total}`;
  return `${message === undefined ? '' : `${message}: `}${amount}\n`;
}

/** False if the server hangs as a whole, and not just in one call. */
async function answersPing(connection: Connection | undefined): Promise<boolean> {
  if (connection === undefined) return false;
  return connection.client.ping({ timeout: PING_MS }).then(
    () => true,
    () => false,
  );
}
