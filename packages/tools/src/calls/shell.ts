/** Shell tools: commands that an agent writes, and commands that a document declares. */
import { jsonOr } from '@sluice-internal/kernel/expr';
import { fail } from '@sluice-internal/engine/ports';
import { shellRunner, type ShellRunner } from './sandbox.ts';
import { expandText, type Scope } from './template.ts';
import { deadlineText } from './tool.ts';
import { refusedResult } from '@sluice-internal/platform';
import type { Args, ToolCall, ToolKind, ToolOptions, ToolWork } from './tool.ts';

interface DeclaredShell {
  readonly command?: string;
  /** A program and its arguments, each a template. */
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** Bytes. Linux refuses to start a program with a much longer variable. */
const VARIABLE_MAX = 64 * 1024;

export function shellTools(options: ToolOptions): ToolKind {
  const run = shellRunner(options.shell);
  return {
    builtins: { shell_run: shellRun(run), ...gitTools(run) },
    declared: (definition) => declaredShell(definition as unknown as DeclaredShell, run, options.env ?? process.env),
  };
}

/** Arguments of git commands are single words, so an agent cannot add options or commands. */
const GIT: { readonly [tool: string]: (args: Args) => readonly string[] } = {
  git_status: () => ['status', '--short', '--branch'],
  git_diff: ({ staged, path }) => [
    'diff',
    ...(staged === true ? ['--staged'] : []),
    '--',
    ...(typeof path === 'string' ? [path] : []),
  ],
  git_log: ({ count }) => ['log', '--oneline', `-${typeof count === 'number' ? count : 10}`],
  git_show: ({ commit }) => ['show', '--stat', '-p', String(commit), '--'],
  git_add: ({ path }) => ['add', '--', String(path)],
  git_commit: ({ message }) => ['commit', '-m', String(message)],
};
const IDENTITY = ['-c', 'safe.directory=*', '-c', 'user.name=sluice', '-c', 'user.email=sluice@localhost'];

function gitTools(run: ShellRunner): { readonly [name: string]: ToolWork } {
  const works = Object.entries(GIT).map(([name, words]): [string, ToolWork] => [
    name,
    async ({ args, workDir, timeoutMs, signal }) => {
      const { exitCode, stdout, stderr } = await run(['git', ...IDENTITY, ...words(args)], {
        workDir,
        timeoutMs,
        signal,
      });
      return { exitCode, stdout, stderr };
    },
  ]);
  return Object.fromEntries(works);
}

/** A command that fails is a result, not a failed call: gates look at its exit code. */
function shellRun(run: ShellRunner): ToolWork {
  return async ({ args, workDir, timeoutMs, signal, call, clean }) => {
    const env = callVariables(call);
    const done = await run(args['command'] as string, { workDir, timeoutMs, signal, env, clean });
    const { exitCode, stdout, stderr, truncated } = done;
    return { exitCode, stdout, stderr, truncated };
  };
}

/** Facts about the call that a command receives as environment variables. */
function callVariables(call: ToolCall['call']): { readonly [name: string]: string } {
  const deadline = deadlineText(call);
  return {
    SLUICE_RUN: call.command.run,
    SLUICE_IDEMPOTENCY_KEY: call.idempotencyKey,
    ...(deadline === null ? {} : { SLUICE_DEADLINE: deadline }),
  };
}

/**
 * Arguments reach a declared command as variables and as JSON on its standard input. They are never part of the command
 * text, so a model cannot inject commands. The output is the result. A command that fails is a failed call.
 */
function declaredShell(
  { command, argv = [], cwd, env = {} }: DeclaredShell,
  run: ShellRunner,
  environment: Scope['env'],
): ToolWork {
  return async ({ name, args, result, workDir, timeoutMs, signal, call, clean }) => {
    const scope: Scope = { args, result, env: environment };
    const variables = {
      ...Object.fromEntries(Object.entries(env).map(([key, value]) => [key, expandText(value, scope)])),
      ...argumentVariables(args),
      ...(result === null ? {} : { SLUICE_RESULT: JSON.stringify(result) }),
      ...callVariables(call),
    };
    const stdin = `${JSON.stringify(args)}\n`;
    const done = await run(command ?? argv.map((part) => expandText(part, scope)), {
      workDir,
      cwd,
      env: variables,
      stdin,
      timeoutMs,
      signal,
      clean,
    });
    if (done.exitCode !== 0) {
      const output = clean(done.stderr || done.stdout)
        .trim()
        .slice(-500);
      throw fail('fatal', 'ExitError', `exit code ${done.exitCode}: ${output}`);
    }
    if (done.stdoutTruncated)
      throw refusedResult(
        call,
        fail('semantic', 'TooLargeError', `the output of \`${name}\` is larger than the limit`),
      );
    const text = done.stdout.trim();
    return jsonOr(text, text);
  };
}

/**
 * `to` becomes ARG_to; lists and objects become JSON. An argument that cannot be a variable (its name, a NUL character, its
 * size) is on standard input only.
 */
function argumentVariables(args: Args): { [name: string]: string } {
  const variables = Object.entries(args).flatMap(([name, value]): [string, string][] => {
    if (!/^\w+$/.test(name) || value === null) return [];
    const isStructure = typeof value === 'object';
    const text = isStructure ? JSON.stringify(value) : String(value);
    if (text.includes('\0') || (isStructure && Buffer.byteLength(text) > VARIABLE_MAX)) return [];
    return [[`ARG_${name}`, text]];
  });
  return Object.fromEntries(variables);
}
