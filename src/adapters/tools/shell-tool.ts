/** Commands as tools: one that an agent writes, and ones that a document declares. */
import type { Json } from '../../core/json.ts';
import type { Args, ToolWork } from './context.ts';
import { fail } from './fail.ts';
import type { ShellRunner } from './shell.ts';

export interface DeclaredShell {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** A failing command is a result like any other: its exit code is what gates look at. */
export function shellRun(run: ShellRunner): ToolWork {
  return async ({ args, workDir, timeoutMs, signal, call }) => {
    const env = { SLUICE_RUN: call.command.run, SLUICE_IDEMPOTENCY_KEY: call.idempotencyKey };
    return { ...(await run(args['command'] as string, { workDir, timeoutMs, signal, env })) };
  };
}

/**
 * Arguments reach a declared command as variables and as JSON on its input, never as part of its text: whatever a model puts
 * into them, it is not run. Its output is the result, as JSON where it is JSON; a failing command is a failed call.
 */
export function declaredShell({ command, cwd, env }: DeclaredShell, run: ShellRunner): ToolWork {
  return async ({ args, result, workDir, timeoutMs, signal, call }) => {
    const variables = {
      ...env,
      ...argumentVariables(args),
      ...(result === null ? {} : { SLUICE_RESULT: JSON.stringify(result) }),
      SLUICE_RUN: call.command.run,
      SLUICE_IDEMPOTENCY_KEY: call.idempotencyKey,
    };
    const done = await run(command, {
      workDir,
      cwd,
      env: variables,
      stdin: `${JSON.stringify(args)}\n`,
      timeoutMs,
      signal,
    });
    if (done.exitCode !== 0)
      throw fail(
        'fatal',
        'ExitError',
        `exit code ${done.exitCode}: ${(done.stderr || done.stdout).trim().slice(-500)}`,
      );
    return parsed(done.stdout);
  };
}

/** `to` becomes ARG_to; what is no plain name or value is only on the input. */
function argumentVariables(args: Args): { [name: string]: string } {
  const plain = Object.entries(args).filter(
    ([name, value]) =>
      /^\w+$/.test(name) && value !== null && typeof value !== 'object' && !String(value).includes('\0'),
  );
  return Object.fromEntries(plain.map(([name, value]) => [`ARG_${name}`, String(value)]));
}

function parsed(output: string): Json {
  const text = output.trim();
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
