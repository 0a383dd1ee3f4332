/** Turns the options of a command into those of an engine. If a model, key or tool is missing, the run waits and the command ends. */
import { present } from '@sluice-internal/kernel/expr';
import { callsOf, isScripted } from '@sluice-internal/library/host';
import type { NeededCall, Script, WorldToolOptions } from '@sluice-internal/library/host';
import type { CreateEngineOptions } from '@sluice-internal/library';
import type { HttpOptions, ToolFunction } from '@sluice-internal/tools/calls';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';
import { loadScript, readShellLimits } from '@sluice-internal/library/documents';
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

/** The part of an engine's options that follows from those of a command. */
export interface EngineWorld {
  readonly options: Omit<CreateEngineOptions, 'script'>;
  readonly script: Script | undefined;
  /** Resolves when the run needs a model, key or tool that is missing. */
  readonly missing: Promise<SluiceError>;
  /** The options to repeat in a command that continues the run. */
  readonly flags: string;
}

export function engineWorld(cli: Cli, options: WorldOptions, flow?: CompiledFlow): EngineWorld {
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
  if (script !== undefined && options.model !== undefined && flow !== undefined)
    cli.hint(partsLine(script, flow, options.model));
  return {
    options: {
      onMissing,
      tools: options.functions ?? {},
      toolOptions: toolOptionsOf(options),
      ...(script === undefined || options.model !== undefined ? { models: { ...present({ model }), stream } } : {}),
    },
    script,
    missing,
    flags: flagsOf(cli, options),
  };
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
