/** Turns the options of a command into a world. If a model, key or tool is missing, the run waits and the command ends. */
import { present } from '@sluice-internal/kernel/expr';
import { callsOf, isScripted, worldBeside } from '@sluice-internal/library/host';
import type { NeededCall, Script, World as BaseWorld, WorldToolOptions } from '@sluice-internal/library/host';
import type { HttpOptions, ToolFunction } from '@sluice-internal/tools/calls';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';
import { definitionTools, loadScript, readShellLimits } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { isIP } from 'node:net';
import type { ContinueOptions } from '../table/command-table.ts';
import { flagsOf } from '../table/command-name.ts';

export interface WorldOptions extends ContinueOptions {
  /** The folder of the document. Relative paths in the document start there. */
  readonly documentDir?: string;
  /** The functions of a definition that is started. */
  readonly functions?: { readonly [name: string]: ToolFunction };
}

export interface World extends BaseWorld {
  /** Resolves when the run needs a model, key or tool that is missing. */
  readonly missing: Promise<SluiceError>;
  /** The options to repeat in a command that continues the run. */
  readonly flags: string;
}

export function createWorld(cli: Cli, options: WorldOptions, flow?: CompiledFlow): World {
  const { promise: missing, resolve } = Promise.withResolvers<SluiceError>();
  const onMissing = (call: Call, { code, message, help }: SluiceError): Promise<never> => {
    const resume = `Continue with \`sluice resume ${call.command.run} --script FILE\`.`;
    resolve(new SluiceError(code, message, code === 'no-implementation' ? resume : help));
    return untilAborted(call);
  };
  const { script: file = false } = options;
  const script = file === false ? undefined : loadScript(file, flow, cli);
  const model = defaultModel(options);
  // Streaming makes sense on a terminal only.
  const stream = cli.screen.live && !cli.json && !cli.quiet;
  const { world, close } = worldBeside(cli.db, {
    onNotice: (message) => cli.screen.note(message),
    onMissing,
    flowTools: definitionTools,
    tools: options.functions ?? {},
    toolOptions: toolOptionsOf(options),
    ...present({ script }),
    ...(script === undefined || options.model !== undefined ? { models: { ...present({ model }), stream } } : {}),
  });
  if (script !== undefined && options.model !== undefined && flow !== undefined)
    cli.hint(partsLine(script, flow, options.model));
  return { ...world, close, missing, flags: flagsOf(cli, options) };
}

function toolOptionsOf(options: WorldOptions): WorldToolOptions {
  const { workDir, documentDir, allowHost = [], shellLimit = [] } = options;
  return {
    ...present({ workDir, documentDir }),
    http: httpOptions(allowHost),
    ...(shellLimit.length === 0 ? {} : { shell: { limits: readShellLimits(shellLimit) } }),
  };
}

/** The model for agents that name none. With a script, only `--model` asks for a real model. */
export function defaultModel({ script = false, model }: WorldOptions): string | undefined {
  return model ?? (script === false ? process.env['SLUICE_MODEL'] || undefined : undefined);
}

/** One line with the real and the scripted parts of the run. */
function partsLine(script: Script, flow: CompiledFlow, model: string): string {
  const calls = [...callsOf(flow)];
  const names = (kind: NeededCall['kind'], scripted: boolean): string => {
    const found = calls.filter((call) => call.kind === kind && isScripted(script, flow, call) === scripted);
    return [...new Set(found.map(({ name }) => name))].join(', ') || 'none';
  };
  const real = `real: agents ${names('model', false)} (default model ${model}), tools ${names('tool', false)}`;
  return `scripted: agents ${names('model', true)}, tools ${names('tool', true)}; ${real}`;
}

function untilAborted({ signal }: Call): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

/** A private address is allowed only if it is named as `localhost` or as an IP address. */
function httpOptions(hosts: readonly string[]): HttpOptions {
  const privateHosts = hosts.filter((host) => host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) > 0);
  return { hosts, privateHosts };
}
