/** Reads observations: commands with their outcome, files written and deleted. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { alternativesOf, contains, readCommandLine, shows } from './commands.ts';
import { writesOf } from './command-writes.ts';
import { isAboutTests, ranNoTests } from './no-tests.ts';
import type { CommandRun, Observation } from './evidence.ts';

const COMMAND = 'shell_run';
const WRITES = new Set(['write_file', 'patch_file']);
/** The beginning of a text result of a failed call. */
const FAILED = /^\[(ERROR|DENIED|TIMEOUT|NOT FOUND|EXIT\b)/;

/** True if the call did its work. A command that ran and failed did not. */
export function succeeded({ tool, ok, result = null }: Observation): boolean {
  if (!ok || (typeof result === 'string' && FAILED.test(result))) return false;
  return !hasExitCode(tool) || exitCodeOf(result) === 0;
}

function hasExitCode(tool: string): boolean {
  return tool === COMMAND || tool.startsWith('git_');
}

/** The commands among some of the session's observations. */
export function commandsOf(observations: readonly Observation[], session = observations): CommandRun[] {
  return observations
    .filter(({ tool }) => tool === COMMAND)
    .map((observation) => ({
      id: observation.id,
      turn: observation.turn,
      index: session.indexOf(observation),
      command: lineOf(observation),
      passed: succeeded(observation),
      output: outputOf(observation.result ?? null),
    }));
}

/** True if the line exited with 0 and the pattern occurs in commands that must have succeeded. */
export function proves(run: CommandRun, pattern: string): boolean {
  return coveredBy(pattern, [run]) !== null;
}

/** True if the command should run tests, and its output reports that none ran. */
export function testedNothing({ output }: CommandRun, pattern: string): boolean {
  return isAboutTests(pattern) && ranNoTests(output);
}

/** True if the pattern occurs in any command of the line that does something. */
export function mentions({ command }: CommandRun, pattern: string): boolean {
  return contains(readCommandLine(command).all, pattern);
}

/**
 * The runs that cover a pattern: one alternative suffices, and its parts, joined by `&&`, may have succeeded in separate
 * runs. Null if no alternative is covered.
 */
export function coveredBy(pattern: string, runs: readonly CommandRun[]): readonly CommandRun[] | null {
  const proven = runs
    .filter(({ passed }) => passed)
    .map((run) => ({ run, commands: readCommandLine(run.command).proven }));
  for (const parts of alternativesOf(pattern)) {
    const covering = parts.map((part) =>
      proven.findLast(({ run, commands }) => commands.some((each) => shows(each, part)) && !testedNothing(run, part)),
    );
    if (covering.every((each) => each !== undefined)) return covering.map(({ run }) => run);
  }
  return null;
}

/** Paths in the order in which they were last written, without those deleted since. */
export function writtenBy(observations: readonly Observation[]): string[] {
  const written = new Set<string>();
  for (const observation of observations) {
    const path = pathOf(observation);
    if (path === '' || !succeeded(observation)) continue;
    if (WRITES.has(observation.tool) || observation.tool === 'delete_file') written.delete(path);
    if (WRITES.has(observation.tool)) written.add(path);
  }
  return [...written];
}

/** True if the call changed a file. */
export function changedFile(observation: Observation): boolean {
  return (WRITES.has(observation.tool) || observation.tool === 'delete_file') && succeeded(observation);
}

/** The files that a call changed: the path of a file tool, or the files that a command line names as written. */
export function pathsChangedBy(observation: Observation): readonly string[] {
  if (changedFile(observation)) return [pathOf(observation)];
  return observation.tool === COMMAND ? writesOf(lineOf(observation)).paths.map(normalPath) : [];
}

export function lineOf({ args }: Observation): string {
  return textAt(args, 'command');
}

export function isWrite({ tool }: Observation): boolean {
  return WRITES.has(tool) || tool === 'git_commit';
}

/** The path that a file tool was called with. */
export function pathOf({ args }: Observation): string {
  return normalPath(textAt(args, 'path'));
}

/** A path from the work directory: without `./`, doubled slashes, and the sandbox's name of the work directory. */
export function normalPath(path: string): string {
  return path
    .replace(/^\/workspace\/+/, '')
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/');
}

/** A text result counts as success unless it begins with a failure mark; an object must have an exit code. */
function exitCodeOf(result: Json): number | null {
  if (typeof result === 'string') return FAILED.test(result) ? 1 : 0;
  if (!isRecord(result)) return null;
  const code = result['exitCode'] ?? result['exit_code'];
  return typeof code === 'number' ? code : null;
}

function outputOf(result: Json): string {
  if (typeof result === 'string') return result;
  if (!isRecord(result)) return '';
  return [result['stdout'], result['stderr'], result['output']].filter((text) => typeof text === 'string').join('\n');
}

function textAt(args: Observation['args'] | undefined, field: string): string {
  const value = args?.[field];
  return typeof value === 'string' ? value : '';
}
