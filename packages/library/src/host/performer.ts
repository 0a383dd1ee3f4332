/**
 * Performs tool calls: built-in tools, and tools that a document declares. Arguments are checked against the schema of the
 * tool before it runs. A result that is too large or not JSON is a failed call.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { BUILTIN_TOOLS, isBuiltinTool } from '@sluice-internal/kernel/catalog';
import type { BuiltinTool } from '@sluice-internal/kernel/catalog';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { fail, failUnsent, pure, toolResult } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { mcpTools } from '@sluice-internal/tools/mcp';
import {
  codeTools,
  fileTools,
  httpTools,
  jsonTools,
  logChange,
  moduleTools,
  noteTools,
  searchTools,
  shellTools,
  withoutSecrets,
} from '@sluice-internal/tools/calls';
import { refusedResult, workDirOf } from '@sluice-internal/platform';
import type { Args, ToolCall, ToolKind, ToolOptions, ToolWork } from '@sluice-internal/tools/calls';
import { realpath } from 'node:fs/promises';

/**
 * Performs the tools that documents declare. Close it to stop MCP servers.
 * @example
 * const performer: ToolPerformer = toolPerformer({ workDir: () => './work' });
 * await performer.close();
 */
export interface ToolPerformer extends Performer {
  /** Ends the processes and threads that tools have started, such as MCP servers. */
  close(): Promise<void>;
}
type ToolKinds = { readonly [key: string]: ToolKind };

const TIMEOUT_MS = 30_000;

/**
 * Performs tools as documents declare them: HTTP, shell, files, code, modules and MCP servers.
 * @example
 * const performer = toolPerformer({ workDir: () => './work', http: { hosts: ['api.example.com'] } });
 */
export function toolPerformer(options: ToolOptions): ToolPerformer {
  const kinds = toolKinds(options);
  const builtins = builtinTools(kinds);
  const ending = new AbortController();
  const calls = new Set<Promise<unknown>>();
  return {
    perform: async (call) => {
      const { command, flow } = call;
      const { name, kind, input } = command;
      if (kind !== 'tool')
        throw fail('fatal', 'NotConfiguredError', `no performer is configured for the ${kind} \`${name}\``);
      const def = Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
      const definition = [def?.implementation, options.mcp];
      const work = withoutSecrets(workOf(name, def, kinds, builtins), definition, options.env ?? process.env);
      const args = (input['args'] ?? {}) as Args;
      checkArguments(name, def?.input ?? builtinOf(name)?.input ?? true, args);
      const signal = AbortSignal.any([call.signal, ending.signal]);
      const done = run(work, call, signal, args, def, options);
      calls.add(done);
      try {
        return { ok: true, value: await done };
      } finally {
        calls.delete(done);
      }
    },
    close: async () => {
      ending.abort();
      await Promise.allSettled(calls);
      await Promise.all(Object.values(kinds).map(async (kind) => kind.close?.()));
    },
  };
}

async function run(
  work: ToolWork,
  call: Call,
  signal: AbortSignal,
  args: Args,
  def: ToolDef | undefined,
  options: ToolOptions,
): Promise<Json> {
  // A virtual clock stands still while a tool runs in real time.
  const done = call.clock.busy?.();
  try {
    const toolCall = { ...(await toolCallOf(call, args, def, options)), signal };
    const given = await work(toolCall);
    try {
      const value = toolResult(toolCall.name, given, options.resultMax);
      await logChange(toolCall, value);
      return value;
    } catch (error) {
      throw refusedResult(call, error);
    }
  } finally {
    done?.();
  }
}

/** Every kind of tool. A kind with `declared` uses its key as the key in the document. */
export function toolKinds(options: ToolOptions): ToolKinds {
  return {
    files: fileTools(options),
    notes: noteTools(),
    search: searchTools(),
    json: jsonTools(),
    http: httpTools(options),
    shell: shellTools(options),
    code: codeTools(options),
    module: moduleTools(options),
    mcp: mcpTools(options),
  };
}

/** The built-in tools by name. Throws if a tool of the catalog has no implementation, or the reverse. */
export function builtinTools(kinds: ToolKinds): ReadonlyMap<string, ToolWork> {
  const works = new Map(Object.values(kinds).flatMap(({ builtins = {} }) => Object.entries(builtins)));
  const names = Object.keys(BUILTIN_TOOLS);
  const odd = [
    ...names.filter((name) => !works.has(name)),
    ...[...works.keys()].filter((name) => !isBuiltinTool(name)),
  ];
  if (odd.length > 0) throw new Error(`built-in tools that are only half defined: ${odd.join(', ')}`);
  return works;
}

/** A declaration in the document wins over a built-in tool of the same name. */
function workOf(
  name: string,
  def: ToolDef | undefined,
  kinds: ToolKinds,
  builtins: ReadonlyMap<string, ToolWork>,
): ToolWork {
  const implementation = (def?.implementation ?? {}) as { readonly [key: string]: Json };
  for (const [key, { declared }] of Object.entries(kinds)) {
    const definition = implementation[key];
    if (declared !== undefined && definition !== undefined) return declared(definition, implementation);
  }
  const { builtin = name } = implementation;
  const work = builtins.get(String(builtin));
  if (work === undefined) throw failUnsent('fatal', 'NotConfiguredError', `the tool \`${name}\` has no implementation`);
  return work;
}

async function toolCallOf(call: Call, args: Args, def: ToolDef | undefined, options: ToolOptions): Promise<ToolCall> {
  const { name, run, input } = call.command;
  const own = typeof options.workDir === 'function' ? options.workDir(run) : options.workDir;
  const workDir = workDirOf(call.pins, run, own);
  return {
    name,
    args,
    result: input['result'] ?? null,
    workDir: await realpath(workDir).catch(() => workDir),
    timeoutMs: def?.timeoutMs ?? builtinOf(name)?.timeoutMs ?? TIMEOUT_MS,
    signal: call.signal,
    call,
    attach: (source, holdsSecret) => (options.attach ?? noStore)(call, workDir, source, holdsSecret),
    clean: (text) => text,
  };
}

async function noStore(): Promise<never> {
  throw fail('fatal', 'NotConfiguredError', 'there is no store for attachments');
}

function checkArguments(name: string, schema: Json, args: Args): void {
  const problem = problemOf(name, schema, args);
  if (problem !== null)
    throw fail('semantic', 'ArgumentError', `the arguments of \`${name}\` are not valid: ${problem}`);
}

function problemOf(name: string, schema: Json, args: Args): string | null {
  try {
    return pure.validate(schema, args);
  } catch (error) {
    throw fail('fatal', 'SchemaError', `the schema of the tool \`${name}\` is not valid: ${reasonOf(error)}`);
  }
}

function builtinOf(name: string): BuiltinTool | undefined {
  return isBuiltinTool(name) ? BUILTIN_TOOLS[name] : undefined;
}
