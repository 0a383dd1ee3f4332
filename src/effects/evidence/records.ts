/** What observations say was done: commands with their end, files written and deleted. */
import type { Json } from '../../expr/json.ts';
import type { CommandRun, Observation } from './evidence.ts';
import { normalPath } from './match.ts';

const COMMANDS = new Set(['shell_run', 'shell_run_script']);
const WRITES = new Set(['write_file', 'patch_file']);
/** How a result that is text says that it is none. */
const FAILED = /^\[(ERROR|DENIED|TIMEOUT|NOT FOUND|EXIT\b)/;

/** Whether the call did what it was for. A command that ran and failed did not. */
export function succeeded({ tool, ok, result = null }: Observation): boolean {
  if (!ok || (typeof result === 'string' && FAILED.test(result))) return false;
  return !COMMANDS.has(tool) || exitCodeOf(result) === 0;
}

export function commandsOf(observations: readonly Observation[]): CommandRun[] {
  return observations
    .filter(({ tool }) => COMMANDS.has(tool))
    .map((observation) => ({
      id: observation.id,
      turn: observation.turn,
      command: textAt(observation.args, 'command') || textAt(observation.args, 'script'),
      passed: succeeded(observation),
      output: outputOf(observation.result ?? null),
    }));
}

/** Paths in the order in which they were last written, without those that were deleted afterwards. */
export function writtenBy(observations: readonly Observation[]): string[] {
  const written = new Set<string>();
  for (const observation of observations) {
    const path = normalPath(textAt(observation.args, 'path'));
    if (path === '' || !succeeded(observation)) continue;
    if (WRITES.has(observation.tool) || observation.tool === 'delete_file') written.delete(path);
    if (WRITES.has(observation.tool)) written.add(path);
  }
  return [...written];
}

export function isWrite({ tool }: Observation): boolean {
  return WRITES.has(tool) || tool === 'git_commit';
}

export function isCommand({ tool }: Observation): boolean {
  return COMMANDS.has(tool);
}

/** Text counts as success unless it says otherwise; an object has to show its code. */
function exitCodeOf(result: Json): number | null {
  if (typeof result === 'string') return FAILED.test(result) ? 1 : 0;
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return null;
  const code = result['exitCode'] ?? result['exit_code'];
  return typeof code === 'number' ? code : null;
}

function outputOf(result: Json): string {
  if (typeof result === 'string') return result;
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return '';
  return [result['stdout'], result['stderr'], result['output']].filter((text) => typeof text === 'string').join('\n');
}

function textAt(args: Observation['args'] | undefined, field: string): string {
  const value = args?.[field];
  return typeof value === 'string' ? value : '';
}
