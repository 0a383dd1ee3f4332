/**
 * Compiles a document on disk: YAML and JSON from their text, a TypeScript or JavaScript module from its exports.
 * Mistakes in the document are diagnostics; a file that cannot be read is an error.
 */
import { present, reasonOf } from '@sluice-internal/kernel/expr';
import { lockFileOf, readMcpLock } from '@sluice-internal/kernel/catalog';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { loadCode } from '@sluice-internal/platform';
import { requireModel, targetOf } from '@sluice-internal/models';
import { DEFAULT_MODEL } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Pins } from '@sluice-internal/kernel/ir';
import { missingPrerequisites, missingServers } from '@sluice-internal/tools/calls';
import type { Missing, RealCalls } from '@sluice-internal/tools/calls';
import { START, childOf, createReport, createSource, entryOf, parseSource } from '@sluice-internal/compile/source';
import type { Diagnostic, Located, Range } from '@sluice-internal/compile/source';
import type { CompileResult } from '@sluice-internal/notations/driver';
import { SluiceError, fail } from '@sluice-internal/engine/ports';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FlowTools } from '../host/functions.ts';
import { isDefinition, type AnyDefinition } from '../define/definition.ts';
import { compile } from '../compile.ts';
import { readText } from './files.ts';

export interface CompiledFile {
  readonly file: string;
  /** The text that diagnostics quote. A module has none. */
  readonly text?: string;
  readonly result: CompileResult;
  /** The document that a module exports. */
  readonly document?: unknown;
  /** The definition that a module exports as a value. */
  readonly definition?: AnyDefinition;
}

/**
 * `model` is the model of agents that name none. `mcpLock` has the tools of the MCP servers; by default it is read from the
 * lock file, and null means none.
 */
export async function compileFile(file: string, model?: string, mcpLock?: McpLock | null): Promise<CompiledFile> {
  if (/\.[cm]?[jt]s$/.test(file)) {
    const value = await exported(file);
    if (!isDefinition(value)) return { file, document: value, result: compileAs(file, value, model, mcpLock) };
    const { document } = value;
    return { file, document, result: compileAs(file, document, model, mcpLock), definition: value };
  }
  const text = readText(file);
  return { file, text, result: compileAs(file, text, model, mcpLock) };
}

/** Compiles a text or a value in the place of the file. With `within`, only files of these folders are read. */
export function compileAs(
  file: string,
  source: string | object,
  model?: string,
  mcpLock: McpLock | null | undefined = readLock(file),
  within?: readonly string[],
): CompileResult {
  return compile(source, { file, ...present({ model, mcpLock: mcpLock ?? undefined, within }) });
}

/** The lock file beside the document. Undefined if the file does not exist. */
export function readLock(file: string): McpLock | undefined {
  const path = lockFileOf(file);
  if (!existsSync(path)) return undefined;
  try {
    return readMcpLock(readText(path));
  } catch (error) {
    const problem = `\`${path}\` cannot be used: ${reasonOf(error)}`;
    throw new SluiceError('bad-lock', problem, 'Write it again: `sluice mcp lock`.');
  }
}

/** Diagnostics for prerequisites of the tools and validators that this machine lacks. */
export async function prerequisiteDiagnostics(
  compiled: CompiledFile,
  severity: Diagnostic['severity'],
  real?: RealCalls,
): Promise<readonly Diagnostic[]> {
  const { file, result } = compiled;
  if (result.flow === undefined) return [];
  const options = { documentDir: dirname(file) };
  const found = await missingPrerequisites(result.flow, options, real);
  const known = new Set(found.map(({ message }) => message));
  // A run has asked its servers already.
  const servers = severity === 'warning' ? await missingServers(result.servers ?? {}, options) : [];
  return missingDiagnostics(compiled, severity, [...found, ...servers.filter(({ message }) => !known.has(message))]);
}

/** Reports each missing prerequisite at the tool or server that needs it. */
export function missingDiagnostics(
  { file, text = '' }: CompiledFile,
  severity: Diagnostic['severity'],
  missing: readonly Missing[],
): readonly Diagnostic[] {
  if (missing.length === 0) return [];
  const report = createReport(createSource(text, file));
  const { doc } = parseSource(text, file);
  for (const { users, message, help } of missing) {
    const who = users.map((user) => `\`${user}\``).join(', ');
    const at = placeOf(doc, users[0] ?? '');
    report[severity](CODE, at, `${message}, and ${who} ${users.length === 1 ? 'needs' : 'need'} it`, { help });
  }
  return report.list();
}

const CODE = 'missing-prerequisite';

function placeOf(doc: Located | null, name: string): Range {
  const sections = [doc, childOf(doc, 'Orchestration')].flatMap((part) =>
    ['tools', 'mcp', 'models', 'Models'].map((section) => childOf(part, section)),
  );
  return sections.map((section) => entryOf(section, name)?.keyRange).find((range) => range !== undefined) ?? START;
}

/** Diagnostics for keys and provider packages of the models that the document names. */
export function modelDiagnostics({ file, text = '', result }: CompiledFile): readonly Diagnostic[] {
  const { flow } = result;
  if (flow === undefined) return [];
  const report = createReport(createSource(text, file));
  // A misspelt provider is already reported.
  const isMisspelt = (alias: string): boolean =>
    result.diagnostics.some(({ code, message }) => code === 'unknown-provider' && message.endsWith(`\`${alias}\``));
  for (const alias of Object.keys(flow.models).filter((each) => each !== DEFAULT_MODEL && !isMisspelt(each)))
    try {
      requireModel(targetOf(flow, '', alias, {}), dirname(file));
    } catch (error) {
      const { message, help } = error as SluiceError;
      report.warning(CODE, placeOf(parseSource(text, file).doc, alias), message, { help });
    }
  return report.list();
}

export function flowIn({ result }: CompiledFile): CompiledFlow | null {
  return result.ok && result.flow !== undefined ? result.flow : null;
}

/** Finds the functions of a run in the module that exports its definition. */
export const definitionTools: FlowTools = {
  has: ({ command, pins }) => pins?.definition !== undefined && pins.functions?.includes(command.name) === true,
  get: async ({ command, pins }) => {
    const value = await exported(pins?.definition ?? '', pins);
    const tool = isDefinition(value) ? value.tools[command.name] : undefined;
    if (tool !== undefined) return tool;
    const message = `\`${pins?.definition}\` has no tool \`${command.name}\` any more`;
    throw fail('fatal', 'NotConfiguredError', message);
  },
};

async function exported(file: string, pins?: Pins): Promise<object> {
  readText(file);
  let module: { readonly [name: string]: unknown };
  try {
    module = await loadCode(resolve(file), pins);
  } catch (error) {
    throw new SluiceError(
      'bad-module',
      `\`${file}\` cannot be imported: ${reasonOf(error)}`,
      'Correct the module; `--debug` shows the stack.',
      error,
    );
  }
  return documentIn(file, module);
}

/** The export with a known name, or else the only definition. */
function documentIn(file: string, module: { readonly [name: string]: unknown }): object {
  for (const name of ['default', 'document', 'flow']) {
    const value = module[name];
    if (typeof value === 'object' && value !== null) return value;
  }
  const definitions = Object.entries(module).filter(([, value]) => isDefinition(value as object));
  const [only] = definitions;
  if (only !== undefined && definitions.length === 1) return only[1] as object;
  const names = definitions.map(([name]) => `\`${name}\``).join(', ');
  throw new SluiceError(
    'bad-module',
    names === '' ? `\`${file}\` exports no document` : `\`${file}\` exports several definitions: ${names}`,
    `Export ${names === '' ? 'it' : 'one of them'} as \`default\`, \`document\` or \`flow\`.`,
  );
}
