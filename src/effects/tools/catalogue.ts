/** Every built-in tool with what it is and how it works. */
import { BUILTIN_TOOLS } from '../../catalog/builtin-tools.ts';
import type { BuiltinTool, BuiltinToolName } from '../../catalog/builtin-tools.ts';
import { calculator } from './calculator.ts';
import { changes } from './change-log.ts';
import { codeRun } from './code-tool.ts';
import type { ToolOptions, ToolWork } from './context.ts';
import { fileTools } from './files.ts';
import { httpTool } from './http-tool.ts';
import { handoff, reviewRequest, sessionContextRead, sessionContextWrite } from './notes.ts';
import type { ShellRunner } from './shell.ts';
import { shellRun } from './shell-tool.ts';

export interface CatalogueEntry extends BuiltinTool {
  readonly name: BuiltinToolName;
  readonly work: ToolWork;
}

export function toolCatalogue(options: ToolOptions, shell: ShellRunner): ReadonlyMap<string, CatalogueEntry> {
  const works: { readonly [name in BuiltinToolName]: ToolWork } = {
    ...(fileTools(options) as {
      [name in 'read_file' | 'write_file' | 'patch_file' | 'delete_file' | 'list_directory']: ToolWork;
    }),
    shell_run: shellRun(shell),
    handoff,
    session_context_write: sessionContextWrite,
    session_context_read: sessionContextRead,
    changes,
    'http.get': httpTool(options, 'GET'),
    'http.request': httpTool(options),
    code_run: codeRun(options.code),
    calculator,
    review_request: reviewRequest,
  };
  const names = Object.keys(BUILTIN_TOOLS) as BuiltinToolName[];
  return new Map(names.map((name) => [name, { ...BUILTIN_TOOLS[name], name, work: works[name] }]));
}
