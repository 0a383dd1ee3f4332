/**
 * The world a run acts on: a script that stands in for it. Without one, whatever the flow asks of a model or a tool cannot be
 * had; then nothing is made up and nothing fails, but the run stays where it is and the caller learns what is missing.
 */
import { scriptedPerformer } from '../../adapters/scripted/performer.ts';
import type { CompiledFlow, Node } from '../../core/ir.ts';
import { createVirtualClock, realClock } from '../../runtime/clock.ts';
import type { Clock, Performer } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/sluice-error.ts';
import { DEFAULT_DB, type Cli } from './context.ts';
import { DiagnosticsError, countLine, renderAll } from './diagnostics.ts';
import { readText } from './files.ts';
import { readScript } from './script.ts';
import { shellWord } from './text.ts';

export interface WorldOptions {
  readonly script?: string;
  readonly model?: string;
  readonly workDir?: string;
}

export interface World {
  readonly performer: Performer;
  readonly clock: Clock;
  /** Resolves when a run needs something that is not there. */
  readonly lacking: Promise<SluiceError>;
  /** The options to repeat when the run is continued by another command. */
  readonly flags: string;
}

export function createWorld(cli: Cli, options: WorldOptions, flow?: CompiledFlow): World {
  const { promise: lacking, resolve } = Promise.withResolvers<SluiceError>();
  const flags = flagsOf(cli, options);
  const nothing: Performer = {
    perform: (call) => {
      const { kind, name, run } = call.command;
      resolve(lack(kind, name, options.model, `Continue with \`sluice resume ${run} --script FILE\`.`));
      return new Promise((_, reject) =>
        call.signal.addEventListener('abort', () => reject(call.signal.reason as Error)),
      );
    },
  };
  if (options.script === undefined) return { performer: nothing, clock: realClock, lacking, flags };
  const script = loadScript(cli, options.script, flow);
  const clock = script.clock === 'real' ? realClock : createVirtualClock();
  return { performer: scriptedPerformer(script), clock, lacking, flags };
}

/** Before a run is started at all: would it find what it needs? */
export function demandWorld(flow: CompiledFlow, options: WorldOptions): void {
  if (options.script !== undefined) return;
  for (const node of Object.values<Node>(flow.nodes)) {
    if (node.op !== 'do') continue;
    const { effect } = node;
    if (effect.kind === 'model') throw lack('model', effect.agent, options.model, 'Rehearse it with `--script FILE`.');
    if (effect.kind === 'tool') throw lack('tool', effect.tool, options.model, 'Stand in for it with `--script FILE`.');
  }
}

function lack(kind: string, name: string, model: string | undefined, help: string): SluiceError {
  if (kind !== 'model')
    return new SluiceError('no-implementation', `the ${kind} \`${name}\` has no implementation to run`, help);
  const why =
    model === undefined ? 'there is no model to run it on' : `this release cannot call the model \`${model}\``;
  return new SluiceError('no-model', `the flow calls the agent \`${name}\`, and ${why}`, help);
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

function flagsOf(cli: Cli, { script, model, workDir }: WorldOptions): string {
  const given = [
    ['--script', script],
    ['--model', model],
    ['--work-dir', workDir],
    ['--db', cli.db === DEFAULT_DB ? undefined : cli.db],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${shellWord(value)}`])).join('');
}
