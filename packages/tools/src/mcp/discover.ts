/** Asks MCP servers for their tools, for a lock file and before a run starts. */
import { changedParts } from '@sluice-internal/kernel/catalog';
import type { McpLock, McpTool } from '@sluice-internal/kernel/catalog';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { SluiceError, failureOf } from '@sluice-internal/engine/ports';
import { redactValue } from '@sluice-internal/platform';
import type { McpServer, ToolOptions } from '../calls/tool.ts';
import { serverProgram } from '../calls/prerequisites.ts';
import { secretsFor } from '../calls/template.ts';
import { connect } from './connect.ts';
import { failureOfServer } from './failure.ts';

export type Servers = { readonly [server: string]: McpServer };
type DiscoverOptions = Pick<ToolOptions, 'documentDir' | 'env'>;

/** Time for a server to start, which for `npx` may include a download. */
const TIMEOUT_MS = 60_000;

/**
 * Starts each server, lists its tools and ends it.
 * @example
 * const lock = await discoverMcp({ files: { command: 'npx', args: ['@modelcontextprotocol/server-filesystem', '.'] } });
 */
export async function discoverMcp(servers: Servers, options: DiscoverOptions = {}): Promise<McpLock> {
  const found = await Promise.all(
    Object.entries(servers).map(async ([server, config]) => [server, await toolsOf(server, config, options)] as const),
  );
  return { version: 1, servers: Object.fromEntries(found) };
}

/** One sentence for each tool of the flow that differs from the tools of the running servers. `only`: of these servers. */
export async function mcpDifferences(
  flow: CompiledFlow,
  options: DiscoverOptions = {},
  only?: readonly string[],
): Promise<readonly string[]> {
  const used = Object.values(flow.tools)
    .flatMap(({ implementation }) => lockedUse(implementation))
    .filter(({ server }) => only?.includes(server) ?? true);
  const servers = Object.fromEntries(used.map(({ server, config }) => [server, config]));
  const { servers: now } = await discoverMcp(servers, options);
  return used.flatMap(({ server, locked }) => differences(server, locked, now[server] ?? []));
}

/** One sentence for each tool that was added, changed or removed since the older lock was made. */
export function lockDifferences(older: McpLock, newer: McpLock): readonly string[] {
  return Object.entries(newer.servers).flatMap(([server, tools]) => {
    const before = older.servers[server] ?? [];
    const added = tools.filter((tool) => !before.some(({ name }) => name === tool.name));
    return [
      ...before.flatMap((tool) => differences(server, tool, tools)),
      ...added.map(({ name }) => `\`${server}\` has a new tool \`${name}\``),
    ];
  });
}

function differences(server: string, locked: McpTool, tools: readonly McpTool[]): readonly string[] {
  const found = tools.find(({ name }) => name === locked.name);
  if (found === undefined) return [`\`${server}\` no longer has the tool \`${locked.name}\``];
  const changed = changedParts(locked, found);
  return changed.length === 0 ? [] : [`the ${changed.join(' and the ')} of \`${server}.${locked.name}\` changed`];
}

async function toolsOf(server: string, config: McpServer, options: DiscoverOptions): Promise<readonly McpTool[]> {
  const { documentDir = '.', env = process.env } = options;
  const timeoutMs = Math.min(TIMEOUT_MS, (config.timeout ?? Infinity) * 1000);
  try {
    const { client, tools } = await connect(config, {
      documentDir,
      workDir: documentDir,
      env,
      timeoutMs,
      onClose: () => undefined,
      onElicit: () => ({ action: 'cancel' }),
    });
    const found = await tools();
    await client.close().catch(() => undefined);
    return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const { message } = failureOf(failureOfServer(server, '', error, timeoutMs, null));
    const start = config.url === undefined ? `\`${[config.command, ...(config.args ?? [])].join(' ')}\`` : config.url;
    const missing = await serverProgram(config);
    const help = missing?.help ?? `Check that ${start} works on this machine.`;
    throw new SluiceError('mcp-unreachable', redactValue(message, secretsFor(config, env)), help, error);
  }
}

/** The name of the server that a tool is implemented by. */
export function serverOf(implementation: unknown): string | undefined {
  const { mcp } = (implementation ?? {}) as { mcp?: string };
  return mcp?.slice(0, mcp.indexOf('/'));
}

function lockedUse(implementation: unknown): { server: string; config: McpServer; locked: McpTool }[] {
  const { server: config, locked } = (implementation ?? {}) as { server?: McpServer; locked?: McpTool };
  const server = serverOf(implementation);
  return server === undefined || config === undefined || locked === undefined ? [] : [{ server, config, locked }];
}
