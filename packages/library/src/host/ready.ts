/**
 * Checks before a run starts that everything it may call is there, so that no run pays for a call whose successor cannot be made.
 * The library and the command line use the same checks; the command line shows each problem at its place in the document.
 */
import type { CompiledFlow, Pins } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import { missingPrerequisites, unloadableModules } from '@sluice-internal/tools/calls';
import type { Missing, RealCalls } from '@sluice-internal/tools/calls';
import { isScripted } from './scripted/performer.ts';
import type { Script } from './scripted/script.ts';
import { callsOf, hasFunction, requireCalls } from './world.ts';
import type { WorldOptions } from './world.ts';

/** The calls that a script leaves to real tools. */
export interface ScriptedCalls extends RealCalls {
  /** True if a reply of the script calls a tool of the server, and the script does not replace that tool. */
  namesToolOf(server: string): boolean;
}

/** The tools that the replies of a script call and the script does not replace. */
export function realCallsOf(script: Script, flow: CompiledFlow): ScriptedCalls {
  const replies = JSON.stringify(script.agents ?? {});
  const replaced = Object.keys(script.tools ?? {});
  return {
    replaces: (name) => isScripted(script, flow, { kind: 'tool', name }),
    mayCall: (agent, tool) =>
      !isScripted(script, flow, { kind: 'model', name: agent }) || replies.includes(JSON.stringify(tool)),
    namesToolOf: (server) =>
      [...replies.matchAll(/"name":("(?:[^"\\]|\\.)*")/g)]
        .map(([, name = '""']) => JSON.parse(name) as string)
        .some((name) => name.startsWith(`${server}.`) && !replaced.includes(name)),
  };
}

/** Throws a SluiceError if a model, a key, a package, a tool, a program, a variable or a module is missing for a run of the flow. */
export async function requireReady(options: WorldOptions, flow: CompiledFlow, pins: Pins): Promise<void> {
  const { performer, onMissing, script, toolOptions = {} } = options;
  if (performer !== undefined) return;
  // A program with `onMissing` brings what is missing while the run waits.
  if (onMissing === undefined) requireCalls(options, flow, callsOf(flow), pins);
  const scripted = script === undefined ? undefined : realCallsOf(script, flow);
  const real: RealCalls = {
    replaces: (tool) => scripted?.replaces(tool) === true || hasFunction(options, flow, tool, pins),
    mayCall: (agent, tool) => scripted?.mayCall(agent, tool) ?? true,
  };
  refuse(await missingPrerequisites(flow, toolOptions, real));
  refuse(await unloadableModules(flow, pins, real));
}

function refuse(missing: readonly Missing[]): void {
  const [first] = missing;
  if (first === undefined) return;
  const lines = missing.map(
    ({ users, message }) =>
      `${message}, and ${users.map((each) => `\`${each}\``).join(', ')} ${users.length === 1 ? 'needs' : 'need'} it`,
  );
  throw new SluiceError('missing-prerequisite', lines.join('; '), first.help);
}
