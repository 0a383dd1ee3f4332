/**
 * Runs a command in this process, as `cli.ts` runs it in one of its own: the same arguments, folder, variables, output and
 * status, without the start of a process. Signals, terminals, launchers and modules of users need a process.
 */
import picocolors from 'picocolors';
import { runCommand } from '../../src/main.ts';
import type { Screen } from '@sluice-internal/library/documents';
import { bin, cleanEnvironment, folder } from './cli.ts';
import type { Ran, SpawnOptions } from './cli.ts';

/** `run` is the command of a copy of the sources. */
export async function sluice(
  args: readonly string[],
  { cwd, env = {} }: Omit<SpawnOptions, 'uid'>,
  run = runCommand,
): Promise<Ran> {
  const before = { cwd: process.cwd(), env: process.env, argv: process.argv, exitCode: process.exitCode };
  const text = { stdout: '', stderr: '' };
  try {
    process.chdir(cwd);
    process.env = { ...cleanEnvironment(), ...env };
    process.argv = [process.execPath, bin, ...args];
    // A command that has done its work sets none.
    process.exitCode = undefined;
    await run(args, screenTo(text), { json: args.includes('--json'), debug: args.includes('--debug') });
    return { status: Number(process.exitCode ?? 0), ...text };
  } finally {
    process.chdir(before.cwd);
    process.env = before.env;
    process.argv = before.argv;
    process.exitCode = before.exitCode;
  }
}

/** The project that `sluice init` makes, which waits for a person at its gate. */
export async function newProject(): Promise<string> {
  const dir = folder();
  const made = await sluice(['init', '.', '--template', 'support'], { cwd: dir });
  if (made.status !== 0) throw new Error(made.stderr);
  return dir;
}

/** A screen that is not a terminal. */
function screenTo(text: { stdout: string; stderr: string }): Screen {
  return {
    colors: picocolors.createColors(false),
    live: false,
    interactive: false,
    columns: () => 80,
    width: () => Infinity,
    print: (line) => void (text.stdout += `${line}\n`),
    printData: (line) => void (text.stdout += `${line}\n`),
    note: (line) => void (text.stderr += `${line}\n`),
    draw: (part) => void (text.stderr += part),
    isClosed: () => false,
    delivered: () => Promise.resolve(null),
  };
}
