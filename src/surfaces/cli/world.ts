/**
 * The world a run acts on: a script that stands in for it, or real models. What the flow asks for and nobody can give is not
 * made up and does not fail: the run stays where it is, and the caller learns what is missing.
 */
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { fileMemory } from '../../effects/memory/store.ts';
import { demandModel, demandModels } from '../../effects/models/demand.ts';
import { modelPerformer } from '../../effects/models/performer.ts';
import { priceOf } from '../../effects/models/prices.ts';
import type { TargetOptions } from '../../effects/models/target.ts';
import type { HttpOptions } from '../../effects/tools/tool.ts';
import { scriptedPerformer } from '../../effects/scripted/performer.ts';
import type { CompiledFlow, Node } from '../../ir/nodes.ts';
import { createVirtualClock, realClock } from '../../runtime/engine/clock.ts';
import type { Call, Clock, Performer } from '../../runtime/ports.ts';
import { PerformError } from '../../runtime/failures.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { createHands, isImplemented } from '../../effects/world.ts';
import { DEFAULT_DB, type Cli } from './context.ts';
import { DiagnosticsError, countLine, renderAll } from './diagnostics.ts';
import { readText } from './files.ts';
import type { Foreseen } from './store.ts';
import { readScript } from './script.ts';
import { shellWord } from './text.ts';

export interface WorldOptions {
  readonly script?: string;
  readonly model?: string;
  readonly workDir?: string;
  /** Whom the built-in HTTP tools may call. */
  readonly allowHost?: readonly string[];
  /** The document's folder, from which relative paths in it lead. */
  readonly documentDir?: string;
}

export interface World {
  readonly performer: Performer;
  readonly clock: Clock;
  /** Resolves when a run needs something that is not there. */
  readonly lacking: Promise<SluiceError>;
  /** The options to repeat when the run is continued by another command. */
  readonly flags: string;
  close(): Promise<void>;
}

export function createWorld(cli: Cli, options: WorldOptions, flow?: CompiledFlow): World {
  const { promise: lacking, resolve } = Promise.withResolvers<SluiceError>();
  const stay = (call: Call, error: SluiceError): Promise<never> => {
    resolve(error);
    return new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason as Error)));
  };
  const { workDir, documentDir, allowHost: hosts = [] } = options;
  const scripted = options.script === undefined ? null : loadScript(cli, options.script, flow);
  const memory = fileMemory(join(dirname(cli.db), 'memory'));
  const hands = createHands(
    { workDir, documentDir, memory, http: allowed(hosts) },
    scripted === null ? absent(stay) : silent,
  );
  const rest = { lacking, flags: flagsOf(cli, options), close: () => hands.close() };
  if (scripted === null) {
    // Only a terminal shows text as it comes, and only then is it asked for piece by piece.
    const stream = cli.screen.live && !cli.json && !cli.quiet;
    const models = { ...modelOptions(options), onLacking: stay, stream };
    return { ...rest, clock: realClock, performer: modelPerformer(models, hands) };
  }
  const clock = scripted.clock === 'real' ? realClock : createVirtualClock();
  return { ...rest, performer: scriptedPerformer(scripted, hands), clock };
}

/** Whoever names this machine or an address means it, be it private; a name may turn out to be anybody's. */
function allowed(hosts: readonly string[]): HttpOptions {
  return {
    hosts,
    privateHosts: hosts.filter((host) => host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) > 0),
  };
}

/** What agents run on that name no model. A script stands in for any. */
export function defaultModel({ script, model }: WorldOptions): string | undefined {
  return script === undefined ? (model ?? (process.env['SLUICE_MODEL'] || undefined)) : undefined;
}

/** Before a run is started at all: would it find what it needs? */
export function demandWorld(flow: CompiledFlow, options: WorldOptions): void {
  if (options.script !== undefined) return;
  demandModels(flow, modelOptions(options));
  for (const node of Object.values<Node>(flow.nodes)) {
    if (node.op !== 'do') continue;
    const { effect } = node;
    if (effect.kind === 'tool' && !isImplemented(flow, effect.tool))
      throw lack('tool', effect.tool, 'Stand in for it with `--script FILE`.');
  }
}

/** Before a run is told something: would it find what it asks for next? */
export function demandNext({ flow, commands }: Foreseen, options: WorldOptions): void {
  if (options.script !== undefined) return;
  for (const { kind, name, model } of commands) {
    if (kind === 'model') demandModel(flow, name, model, modelOptions(options));
    if (kind === 'tool' && !isImplemented(flow, name))
      throw lack('tool', name, 'Nothing was recorded. Stand in for it with `--script FILE`.');
  }
}

function modelOptions(options: WorldOptions): TargetOptions {
  const model = defaultModel(options);
  return { priceOf, ...(model === undefined ? {} : { model }) };
}

/** Under a script, what neither it nor the document says how to do is a mistake in one of them. */
const silent: Performer = {
  perform: async ({ command: { kind, name } }) => {
    const message = `the script says nothing about the ${kind} \`${name}\`, and it has no implementation`;
    throw new PerformError({ class: 'fatal', type: 'ScriptError', message });
  },
};

function absent(stay: (call: Call, error: SluiceError) => Promise<never>): Performer {
  return {
    perform: (call) => {
      const { kind, name, run } = call.command;
      return stay(call, lack(kind, name, `Continue with \`sluice resume ${run} --script FILE\`.`));
    },
  };
}

function lack(kind: string, name: string, help: string): SluiceError {
  return new SluiceError('no-implementation', `the ${kind} \`${name}\` has no implementation to run`, help);
}

function loadScript(cli: Cli, file: string, flow: CompiledFlow | undefined) {
  const text = readText(file);
  const { script, diagnostics } = readScript(text, file, flow);
  if (script === null)
    throw new DiagnosticsError(
      { ok: false, diagnostics },
      (screen) => `${renderAll(diagnostics, text, screen)}\n\n${countLine(file, diagnostics)}`,
    );
  if (diagnostics.length > 0) cli.hint(renderAll(diagnostics, text, cli.screen));
  return script;
}

function flagsOf(cli: Cli, { script, model, workDir, allowHost = [] }: WorldOptions): string {
  const given = [
    ['--script', script],
    ['--model', model],
    ['--work-dir', workDir],
    ...allowHost.map((host) => ['--allow-host', host] as const),
    ['--db', cli.db === DEFAULT_DB ? undefined : cli.db],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${shellWord(value)}`])).join('');
}
