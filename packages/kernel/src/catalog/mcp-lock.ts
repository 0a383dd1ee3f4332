/**
 * The lock of MCP servers: the tools that each server had when the lock was made. The compiler reads descriptions and schemas
 * from it. A run refuses a tool that has changed since, because a changed description can mislead an agent.
 */
import { isRecord, sortedText } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';
import { schemaPattern } from '../expr/text-search.ts';

/**
 * A tool of an MCP server.
 * @example
 * const names = (tools: readonly McpTool[]) => tools.map(({ name }) => name);
 */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: Json;
  readonly output: Json;
  readonly annotations: { readonly [hint: string]: Json };
}
/**
 * The tools that MCP servers had when the lock was made.
 * @example
 * const lock: McpLock = { version: 1, servers: {} };
 */
export interface McpLock {
  readonly version: 1;
  readonly servers: { readonly [server: string]: readonly McpTool[] };
}

/** The name of the lock file of a document. */
export function lockFileOf(document: string): string {
  return `${document}.mcp-lock.json`;
}

/**
 * Reads a lock. Throws if the text is not one.
 * @example
 * const lock = readMcpLock('{"version": 1, "servers": {}}');
 * const { flow: compiled } = compile('steps: [{ name: one, agent: writer }]', { mcpLock: lock });
 */
export function readMcpLock(text: string): McpLock {
  const lock = JSON.parse(text) as Partial<McpLock> | null;
  if (lock?.version !== 1 || !isRecord(lock.servers)) throw new Error('it is not a lock of version 1');
  for (const tools of Object.values(lock.servers))
    if (!Array.isArray(tools) || tools.some((tool: Partial<McpTool>) => typeof tool?.name !== 'string'))
      throw new Error('a server in it has no list of tools');
  return lock as McpLock;
}

export function lockedTool(lock: McpLock | undefined, server: string, tool: string): McpTool | undefined {
  const tools = lock !== undefined && Object.hasOwn(lock.servers, server) ? lock.servers[server] : undefined;
  return tools?.find(({ name }) => name === tool);
}

/** The parts of a tool that differ, such as `description`; empty if none do. The order of keys does not matter. */
export function changedParts(locked: McpTool, found: McpTool): readonly string[] {
  const parts = { description: 'description', input: 'input schema', output: 'output schema', annotations: 'hints' };
  return (Object.keys(parts) as (keyof typeof parts)[])
    .filter((part) => sortedText(locked[part]) !== sortedText(found[part]))
    .map((part) => parts[part]);
}

/**
 * Removes patterns that cannot run in linear time, and the dialect: every schema is read as 2020-12. The server checks its
 * arguments itself.
 */
export function usableSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(usableSchema);
  if (!isRecord(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
      if ((key === '$schema' || key === '$id') && typeof value === 'string') return [];
      if (key === 'pattern' && typeof value === 'string' && !isLinear(value)) return [];
      if (key === 'patternProperties' && isRecord(value))
        return [[key, usableSchema(Object.fromEntries(Object.entries(value).filter(([name]) => isLinear(name))))]];
      return [[key, usableSchema(value)]];
    }),
  );
}

function isLinear(pattern: string): boolean {
  try {
    schemaPattern(pattern);
    return true;
  } catch {
    return false;
  }
}
