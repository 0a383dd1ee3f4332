/** The built-in tools as a compiled flow names them, and what a plugin of that name grants. */
import { BUILTIN_TOOLS, isBuiltinTool } from '../../catalog/builtin-tools.ts';
import type { BuiltinToolName } from '../../catalog/builtin-tools.ts';
import type { ToolDef } from '../../ir/nodes.ts';

export const BUILTIN_TOOL_NAMES: ReadonlySet<string> = new Set(Object.keys(BUILTIN_TOOLS));

/** A plugin grants all of its tools, and no others. */
export const PLUGINS: { readonly [plugin: string]: readonly BuiltinToolName[] } = {
  FileSystem: ['read_file', 'write_file', 'patch_file', 'delete_file', 'list_directory'],
  Shell: ['shell_run'],
  Handoff: ['handoff'],
  SessionContext: ['session_context_write', 'session_context_read'],
  Changes: ['changes'],
  Http: ['http.get', 'http.request'],
  Code: ['code_run', 'calculator'],
  Review: ['review_request'],
};

export function builtinTool(name: string): ToolDef | undefined {
  if (!isBuiltinTool(name)) return undefined;
  const { description, input, effect, timeoutMs, idempotent, category } = BUILTIN_TOOLS[name];
  // What they give is known; a script that stands in for one may say less.
  return {
    description,
    input,
    output: true,
    effect,
    implementation: { builtin: name },
    timeoutMs,
    permission: name,
    idempotent,
    compensate: null,
    category,
    ...(NEUTRAL.has(name) ? { trust: 'neutral' } : {}),
  };
}

/** What they give follows from their arguments alone. */
const NEUTRAL: ReadonlySet<string> = new Set(['calculator', 'code_run', 'handoff', 'review_request']);
