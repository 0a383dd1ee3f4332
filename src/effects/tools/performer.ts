/**
 * Performs tool calls: the built-in ones, and what documents declare as HTTP requests, commands, code, functions in modules
 * and tools of MCP servers. Arguments are held to the tool's schema before anything runs, and a result that is no JSON or
 * too large is a failure, so that nothing a tool does can stop the engine.
 */
import { realpath } from 'node:fs/promises';
import type { ToolDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Performer } from '../../runtime/ports.ts';
import { pure } from '../../runtime/engine/pure.ts';
import { toolResult } from '../../runtime/engine/plain-json.ts';
import { changes, handoff, logChange, reviewRequest, sessionContextRead, sessionContextWrite } from './notes.ts';
import { codeRun, declaredCode } from './code.ts';
import type { Args, McpServer, ToolCall, ToolOptions, ToolWork } from './tool.ts';
import { fail, reasonOf } from './tool.ts';
import { declaredHttp, httpTool } from './http.ts';
import type { DeclaredHttp } from './http.ts';
import { mcpServers } from '../mcp/client.ts';
import type { McpServers } from '../mcp/client.ts';
import { moduleTool } from './module.ts';
import { withoutSecrets } from './template.ts';
import { shellRunner } from './sandbox.ts';
import type { ShellRunner } from './sandbox.ts';
import { declaredShell, shellRun } from './shell.ts';
import type { DeclaredShell } from './shell.ts';
import { BUILTIN_TOOLS } from '../../catalog/builtin-tools.ts';
import type { BuiltinTool, BuiltinToolName } from '../../catalog/builtin-tools.ts';
import { calculator } from './calculator.ts';
import { fileTools } from './files.ts';

export interface ToolPerformer extends Performer {
  /** Ends the MCP servers that were started. */
  close(): Promise<void>;
}
/** How a compiled flow says what a tool is. */
interface Implementation {
  readonly builtin?: string;
  readonly http?: DeclaredHttp;
  readonly shell?: DeclaredShell;
  readonly code?: { readonly source: string };
  readonly module?: string;
  readonly mcp?: string;
  readonly server?: McpServer;
}
interface Means {
  readonly options: ToolOptions;
  readonly shell: ShellRunner;
  readonly servers: McpServers;
  readonly catalogue: ReadonlyMap<string, CatalogueEntry>;
}

const TIMEOUT_MS = 30_000;

export function toolPerformer(options: ToolOptions): ToolPerformer {
  const shell = shellRunner(options.shell);
  const means: Means = { options, shell, servers: mcpServers(options), catalogue: toolCatalogue(options, shell) };
  return {
    perform: async (call) => {
      const { command, flow, clock } = call;
      const { name, input, run } = command;
      if (command.kind !== 'tool')
        throw fail('fatal', 'NotConfiguredError', `nobody performs the ${command.kind} \`${name}\``);
      const def = Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
      const definition = [def?.implementation, options.mcp];
      const work = withoutSecrets(workOf(name, def, means), definition, options.env ?? process.env);
      const args = (input['args'] ?? {}) as Args;
      const problem = validate(def?.input ?? means.catalogue.get(name)?.input ?? true, args, name);
      if (problem !== null)
        throw fail('semantic', 'ArgumentError', `the arguments of \`${name}\` are not valid: ${problem}`);
      // What runs takes real time, during which a script's clock stands still.
      const done = clock.busy?.();
      try {
        const workDir = await realDir(typeof options.workDir === 'function' ? options.workDir(run) : options.workDir);
        const timeoutMs = def?.timeoutMs ?? means.catalogue.get(name)?.timeoutMs ?? TIMEOUT_MS;
        const toolCall: ToolCall = {
          name,
          args,
          result: input['result'] ?? null,
          workDir,
          timeoutMs,
          signal: call.signal,
          call,
        };
        const value = toolResult(name, await work(toolCall), options.resultMax);
        await logChange(toolCall, value);
        return { ok: true, value };
      } finally {
        done?.();
      }
    },
    close: () => means.servers.close(),
  };
}

/** What a document says of a tool comes before what is built in under the same name. */
function workOf(name: string, def: ToolDef | undefined, { options, shell, servers, catalogue }: Means): ToolWork {
  const {
    builtin,
    http,
    shell: command,
    code,
    module,
    mcp,
    server = {},
  } = (def?.implementation ?? {}) as Implementation;
  if (http !== undefined) return declaredHttp(http, options);
  if (command !== undefined) return declaredShell(command, shell);
  if (code !== undefined) return declaredCode(code, options.code);
  if (module !== undefined) return moduleTool(module, options.documentDir ?? '.');
  if (mcp !== undefined) {
    const slash = mcp.indexOf('/');
    return (call) => servers.call(mcp.slice(0, slash), server, mcp.slice(slash + 1), call);
  }
  const entry = catalogue.get(builtin ?? name);
  if (entry === undefined) throw fail('fatal', 'NotConfiguredError', `the tool \`${name}\` has no implementation`);
  return entry.work;
}

function validate(schema: Json, args: Args, name: string): string | null {
  try {
    return pure.validate(schema, args);
  } catch (error) {
    throw fail('fatal', 'SchemaError', `the schema of the tool \`${name}\` cannot be used: ${reasonOf(error)}`);
  }
}

async function realDir(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

interface CatalogueEntry extends BuiltinTool {
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
