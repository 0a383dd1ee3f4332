/** Commands as tools: one that an agent writes, and ones that a document declares. */
import type { Json } from '../../expr/json.ts';
import type { Args, ToolWork } from './tool.ts';
import { fail } from './tool.ts';
import type { ShellRunner } from './sandbox.ts';

export interface DeclaredShell {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** Bytes. Systems start no command with a variable that is much longer. */
const STRUCTURE_MAX = 64 * 1024;

/** A failing command is a result like any other: its exit code is what gates look at. */
export function shellRun(run: ShellRunner): ToolWork {
  return async ({ args, workDir, timeoutMs, signal, call }) => {
    const env = { SLUICE_RUN: call.command.run, SLUICE_IDEMPOTENCY_KEY: call.idempotencyKey };
    const done = await run(args['command'] as string, { workDir, timeoutMs, signal, env });
    const { exitCode, stdout, stderr, truncated } = done;
    return { exitCode, stdout, stderr, truncated };
  };
}

/**
 * Arguments reach a declared command as variables and as JSON on its input, never as part of its text: whatever a model puts
 * into them, it is not run. Its output is the result, as JSON where it is JSON; a failing command is a failed call.
 */
export function declaredShell({ command, cwd, env }: DeclaredShell, run: ShellRunner): ToolWork {
  return async ({ name, args, result, workDir, timeoutMs, signal, call }) => {
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
    if (done.stdoutTruncated)
      throw fail('semantic', 'TooLargeError', `the output of \`${name}\` is larger than what is read of it`);
    return parsed(done.stdout);
  };
}

/** `to` becomes ARG_to, lists and objects as JSON; what no variable can be or hold is only on the input. */
function argumentVariables(args: Args): { [name: string]: string } {
  const variables = Object.entries(args).flatMap(([name, value]): [string, string][] => {
    if (!/^\w+$/.test(name) || value === null) return [];
    const isStructure = typeof value === 'object';
    const text = isStructure ? JSON.stringify(value) : String(value);
    if (text.includes('\0') || (isStructure && Buffer.byteLength(text) > STRUCTURE_MAX)) return [];
    return [[`ARG_${name}`, text]];
  });
  return Object.fromEntries(variables);
}

function parsed(output: string): Json {
  const text = output.trim();
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
