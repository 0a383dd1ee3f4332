/** `sluice run`: compiles a document, starts a run and follows it. */
import { checkedJson, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  DiagnosticsError,
  USAGE,
  compileFile,
  flowIn,
  missingDiagnostics,
  oneLine,
  prerequisiteDiagnostics,
  readInstant,
  readLock,
  readText,
  readWhole,
  renderAll,
  requireFlow,
  shellWord,
} from '@sluice-internal/library/documents';
import type { Cli, CompiledFile, ExitStatus } from '@sluice-internal/library/documents';
import { discoverMcp, mcpDifferences, serverOf } from '@sluice-internal/tools/mcp';
import type { Servers } from '@sluice-internal/tools/mcp';
import { readScript, realCallsOf } from '@sluice-internal/library/host';
import type { ScriptedCalls } from '@sluice-internal/library/host';
import { calledTools, unloadableModules } from '@sluice-internal/tools/calls';
import type { Diagnostic } from '@sluice-internal/compile/source';
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { withDefinition } from '@sluice-internal/platform';
import { checkedInput } from '@sluice-internal/library/define';
import { SluiceError, newRunId } from '@sluice-internal/engine/ports';
import { FROM_STDIN } from '@sluice-internal/kernel/catalog';
import { dirname, resolve } from 'node:path';
import type { Options } from '../table/command-table.ts';
import { openBrowser } from '../session/browser.ts';
import { followToEnd, followToResult } from '../session/follow.ts';
import { withSession } from '../session/session.ts';
import type { Session } from '../session/session.ts';
import { defaultModel } from '../session/world.ts';

export async function runCommand(cli: Cli, file: string, options: Options<'run'>): Promise<ExitStatus> {
  const compiled = await compileWithServers(file, options);
  const flow = requireFlow(compiled);
  const real = realCalls(options, flow);
  refuseMissing(compiled, await prerequisiteDiagnostics(compiled, 'error', real));
  const { definition } = compiled;
  const given = readInput(options.input, flow.notation);
  const seed = readWhole('--seed', options.seed);
  const deadline = readInstant('--deadline', options.deadline);
  if (compiled.result.diagnostics.length > 0)
    cli.hint(renderAll(compiled.result.diagnostics, compiled.text, cli.screen, file));
  const functions = definition?.tools ?? {};
  return withSession(cli, { ...options, documentDir: dirname(file), functions }, flow, async (session) => {
    const { user, attach = [], run: id = newRunId() } = options;
    const attached = await session.world.attachInput(flow, id, given, { parts: true, files: attach });
    const input = definition === undefined ? (attached as Json) : await checkedInput(definition, attached);
    const places = await session.world.pins(flow, id);
    refuseMissing(compiled, missingDiagnostics(compiled, 'error', await unloadableModules(flow, places, real)));
    const names = Object.keys(functions);
    const pins = {
      ...(names.length === 0 ? places : withDefinition(places, file, names)),
      ...(options.script === undefined ? {} : { script: recordedAs(options.script) }),
    };
    const origin = { pins, ...present({ tenant: cli.tenant, user }) };
    const run = await session.engine.start(flow, {
      input,
      origin,
      run: id,
      ...present({ seed, deadline, thread: options.thread }),
    });
    cli.hint(`run ${run} of ${oneLine(flow.id)} (${file})`);
    return options.web === true
      ? followOnPage(cli, session, run, { file, people: flow.people })
      : followToResult(cli, session, run);
  });
}

interface OnPage {
  readonly file: string;
  readonly people: CompiledFlow['people'];
}

/** The one person who says in `people` to be the user of this machine. */
function personAtMachine(people: CompiledFlow['people'] = {}): string | undefined {
  const local = Object.entries(people).filter(([, { login }]) => login === 'token:local');
  return local.length === 1 ? local[0]?.[0] : undefined;
}

/** Opens the page of the run, and waits until the run has ended: people decide on the page. */
async function followOnPage(cli: Cli, session: Session, run: RunId, { file, people }: OnPage): Promise<ExitStatus> {
  const { serve } = await import('@sluice-internal/server');
  const serving = await serve({
    ...{ folders: [dirname(file)], only: file, db: cli.db, port: 0 },
    ...present({ as: personAtMachine(people) }),
    onNotice: (message) => cli.warn(message),
  });
  try {
    const [page = serving.url, other = ''] = serving.pageUrls(`/runs/${encodeURIComponent(run)}`);
    cli.screen.note(`open ${page}\n  or ${other}`);
    if (!cli.json) openBrowser(page, cli.screen.live);
    return await followToEnd(cli, session, run);
  } finally {
    await serving.close();
  }
}

/** Refuses to start if a tool cannot work on this machine: the first model calls would be paid for nothing. */
function refuseMissing(compiled: CompiledFile, missing: readonly Diagnostic[]): void {
  if (missing.length === 0) return;
  const report = { ok: false, diagnostics: missing };
  throw new DiagnosticsError(report, (screen) => renderAll(missing, compiled.text, screen), USAGE);
}

/** The tools that the replies of a script call and the script does not replace. */
function realCalls({ script: file }: Options<'run'>, flow: CompiledFlow): ScriptedCalls | undefined {
  const script = file === undefined ? null : readScript(readText(file), file, flow).script;
  return script === null ? undefined : realCallsOf(script, flow);
}

/**
 * Compares the MCP servers that the run calls with the lock file. Without a lock file they are asked for their tools, and the
 * compiled flow records them.
 */
async function compileWithServers(file: string, options: Options<'run'>): Promise<CompiledFile> {
  const compiled = await compileFile(file, defaultModel(options));
  const flow = flowIn(compiled);
  const servers = compiled.result.servers ?? {};
  if (Object.keys(servers).length === 0) return compiled;
  const real = flow === null ? undefined : realCalls(options, flow);
  if (options.script !== undefined && real === undefined) return compiled;
  const isPartial = options.model !== undefined;
  const called = flow === null || real === undefined || isPartial ? servers : calledServers(flow, real, servers);
  if (Object.keys(called).length === 0) return compiled;
  if (real !== undefined) refuseMissing(compiled, await prerequisiteDiagnostics(compiled, 'error', real));
  const documentDir = dirname(file);
  if (readLock(file) === undefined)
    return compileFile(file, defaultModel(options), await discoverMcp(called, { documentDir }));
  const changes = flow === null ? [] : await mcpDifferences(flow, { documentDir }, Object.keys(called));
  if (changes.length === 0) return compiled;
  throw new SluiceError(
    'mcp-changed',
    `MCP tools have changed since the lock file was written: ${changes.join('; ')}`,
    `Read the changes. To accept them: \`sluice mcp lock ${shellWord(file)}\`.`,
  );
}

/** The servers that a run with a script really calls. */
function calledServers(flow: CompiledFlow, real: ScriptedCalls, servers: Servers): Servers {
  const tools = [...calledTools(flow, real)].filter((tool) => !real.replaces(tool));
  const used = new Set(tools.map((tool) => serverOf(flow.tools[tool]?.implementation)));
  return Object.fromEntries(Object.entries(servers).filter(([name]) => used.has(name) || real.namesToolOf(name)));
}

function readInput(given: string | undefined, notation: string): Json {
  const isFile = given?.startsWith('@') === true;
  const text = given === undefined ? undefined : isFile ? readText(given.slice(1)).replace(/\r?\n$/, '') : given;
  if (notation !== 'flow') return text ?? '';
  if (text === undefined) return {};
  // Only objects and lists are JSON, so a ticket number stays text.
  return /^\s*[[{]/.test(text) ? parse(text, isFile ? given.slice(1) : '--input') : { message: text };
}

function parse(text: string, file: string): Json {
  try {
    return checkedJson(text);
  } catch (error) {
    if (!/^\s*(\{\s*["}]|\[)/.test(text)) return { message: text };
    throw notJson(text, file, error instanceof Error ? error.message : '');
  }
}

/** A script from standard input is recorded too, because a command that continues the run must know it. */
function recordedAs(script: string): string {
  return script === FROM_STDIN ? script : resolve(script);
}

/** The position of a comma before a closing bracket; null if there is none. The message of the parser does not always have it. */
function commaTooMany(text: string): number | null {
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) => ' '.repeat(quoted.length));
  return /,(?=\s*[}\]])/.exec(withoutTexts)?.index ?? null;
}

/** Text that starts like a JSON object but is not valid is a mistake, not a message. */
function notJson(text: string, file: string, message: string): DiagnosticsError {
  const comma = commaTooMany(text);
  const position = comma ?? Number(/at position (\d+)/.exec(message)?.[1] ?? text.length);
  const before = text.slice(0, position).split('\n');
  const diagnostic = {
    severity: 'error',
    code: 'bad-input',
    message: `${file === '--input' ? '`--input`' : `\`${file}\``} is not valid JSON: ${comma === null ? (message.split(' in JSON')[0] ?? '') : 'a comma too many'}`,
    file,
    line: before.length,
    column: (before[before.length - 1]?.length ?? 0) + 1,
    help:
      comma !== null
        ? 'Remove the comma.'
        : `${file === '--input' ? 'Quote the whole value for your shell.' : 'Correct the file at this place.'} Write text that starts with a brace as {"message": "…"}.`,
  } as const;
  return new DiagnosticsError(
    { ok: false, diagnostics: [diagnostic] },
    (screen) => renderAll([diagnostic], text, screen),
    USAGE,
  );
}
