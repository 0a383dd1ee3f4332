/** An MCP server of these tests as a program, as a document declares it. It is bundled and its compiled code is kept, so that it starts quickly. */
import { program } from '../../../../test/support/programs.ts';

// A type and not an interface, so that it is also a JSON value.
export type McpProgram = { command: string; args: string[]; env: { [name: string]: string } };

/** MCP servers get no variable of the process that starts them, unless the document names it. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

export type McpServerFile = 'mcp-bad-server.ts' | 'mcp-good-server.ts' | 'mcp-telling-server.ts';

export function mcpProgram(file: McpServerFile, args: readonly string[], env: McpProgram['env'] = {}): McpProgram {
  return {
    command: process.execPath,
    args: [program(`packages/tools/test/tools/${file}`), ...args],
    env: { ...COMPILE_CACHE, ...env },
  };
}
