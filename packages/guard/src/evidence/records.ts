/** Reads observations: commands with their outcome, files written and deleted. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { alternativesOf, contains, readCommandLine, shows, squeezed, type CommandLine } from './commands.ts';
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
export function commandsOf(
  observations: readonly Observation[],
  session = observations,
  artifacts: ReadonlySet<string> = new Set(),
): CommandRun[] {
  const changed = session.findLastIndex((each) => changedFile(each) && !isArtifact(pathOf(each), artifacts));
  const latest = session[changed];
  return observations
    .filter(({ tool }) => tool === COMMAND)
    .map((observation) => {
      const index = session.indexOf(observation);
      return {
        id: observation.id,
        turn: observation.turn,
        index,
        command: lineOf(observation),
        passed: succeeded(observation),
        output: outputOf(observation.result ?? null),
        stale: latest !== undefined && changed > index ? pathOf(latest) : null,
      };
    });
}

const ARTIFACTS_FOLDER = '.fuseraft/artifacts/';

/** The artifacts that the configuration of a check puts at places of their own. */
export function artifactsOf(config: { readonly [field: string]: Json }): ReadonlySet<string> {
  const sections = [config, config['Validation']].filter((each) => isRecord(each));
  const paths = sections.flatMap((each) => [each['BriefPath'], each['TestReportPath']]);
  return new Set(paths.flatMap((path) => (typeof path === 'string' ? [normalPath(path)] : [])));
}

/** A report or a brief is written about the work; it does not change what a command showed. */
export function isArtifact(path: string, configured: ReadonlySet<string>): boolean {
  return path.startsWith(ARTIFACTS_FOLDER) || configured.has(path);
}

/** True if the command should run tests, and its output reports that none ran. */
export function testedNothing({ output }: CommandRun, pattern: string): boolean {
  return isAboutTests(pattern) && ranNoTests(output);
}

/** Why a command that succeeded does not count any more. */
export function outOfDate({ command, stale }: CommandRun): string {
  return `\`${command}\` is out of date: \`${stale ?? ''}\` was changed after it ran. Run it again`;
}

/** True if the pattern occurs in any command of the line that does something. */
export function mentions({ command }: CommandRun, pattern: string): boolean {
  return contains(readCommandLine(command).all, pattern);
}

/**
 * The runs that cover a pattern: one alternative suffices, and its parts, joined by `&&`, may have succeeded in separate
 * runs. The last run that matches decides, so a failure after a success does not count. Null if no alternative is covered.
 */
export function coveredBy(pattern: string, runs: readonly CommandRun[]): readonly CommandRun[] | null {
  const read = runs.map((run) => ({ run, line: readCommandLine(run.command) }));
  const alternatives = alternativesOf(pattern);
  // Alternatives of one part are one question: the last run that matches any of them.
  const single = alternatives.filter((parts) => parts.length === 1).flat();
  const joint = alternatives.filter((parts) => parts.length > 1).map((parts) => parts.map((part) => [part]));
  for (const needs of [...(single.length === 0 ? [] : [[single]]), ...joint]) {
    const covering = needs.map((parts) => {
      const last = read.findLast(({ line }) => parts.some((part) => line.all.some((each) => shows(each, part))));
      return last !== undefined && parts.some((part) => isCovered(last.run, last.line, part)) ? last.run : undefined;
    });
    if (covering.every((each) => each !== undefined)) return covering;
  }
  return null;
}

function isCovered(run: CommandRun, { proven }: CommandLine, part: string): boolean {
  return run.passed && run.stale === null && proven.some((each) => shows(each, part)) && !testedNothing(run, part);
}

/**
 * True if the command wrote files as the pattern says: a command that matches must have succeeded, or a redirection of the
 * line, as in `cat > a.txt`.
 */
export function wroteBy(run: CommandRun, pattern: string): boolean {
  const line = readCommandLine(run.command);
  if (!run.passed) return false;
  if (contains(line.all, pattern)) return contains(line.proven, pattern);
  const text = squeezed(run.command);
  return (
    writesOf(run.command).paths.length > 0 &&
    alternativesOf(pattern).some((parts) => parts.every((part) => text.includes(part)))
  );
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
