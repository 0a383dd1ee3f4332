/** An MCP server of these tests as a program, as a document declares it. Its compiled code is kept, so that it starts quickly. */
import { join } from 'node:path';

// A type and not an interface, so that it is also a JSON value.
export type McpProgram = { command: string; args: string[]; env: { [name: string]: string } };

/** MCP servers get no variable of the process that starts them, unless the document names it. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

export function mcpProgram(file: string, args: readonly string[], env: McpProgram['env'] = {}): McpProgram {
  return {
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, file), ...args],
    env: { ...COMPILE_CACHE, ...env },
  };
}
