/** Puts together what a check may look at, from the command that asks for it. */
import type { Json } from '../../expr/json.ts';
import { listBeneath, readBeneath } from '../safe-path.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call } from '../../runtime/ports.ts';
import type { Evidence, EvidenceOptions, Observation, Scope } from './evidence.ts';
import { commandsOf, writtenBy } from './records.ts';

const FILE_MAX = 4 * 1024 * 1024;

export function gather({ command, signal }: Call, options: EvidenceOptions): Evidence {
  const { observations: all = [], turn = 0, agent = '', config = {}, message = '' } = command.input;
  const observations = (Array.isArray(all) ? all : []) as unknown as readonly Observation[];
  const thisTurn = observations.filter(
    (each) => each.turn === turn && (agent === '' || agent === null || each.agent === agent),
  );
  const workDir = typeof options.workDir === 'function' ? options.workDir(command.run) : options.workDir;
  const of = (scope: Scope): readonly Observation[] => (scope === 'turn' ? thisTurn : observations);
  return {
    observations,
    thisTurn,
    turn: Number(turn),
    agent: String(agent),
    config: (config ?? {}) as { readonly [field: string]: Json },
    response: typeof message === 'string' ? message : JSON.stringify(message),
    commands: (scope) => commandsOf(of(scope)),
    filesWritten: (scope) => writtenBy(of(scope)),
    readText: (path) => readText(workDir, path),
    run: (line, timeoutMs) => {
      if (options.run === undefined)
        throw new PerformError({
          class: 'fatal',
          type: 'NotConfiguredError',
          message: `the check \`${command.name}\` runs commands, and nothing is set up to run them`,
        });
      return options.run(line, { workDir, timeoutMs, signal });
    },
    files: { list: (path) => listBeneath(workDir, path) },
  };
}

/** What leads out of the work directory, or is no file, is not there. */
async function readText(workDir: string, path: string): Promise<string | null> {
  try {
    return (await readBeneath(workDir, path, FILE_MAX))?.data.toString('utf8') ?? null;
  } catch (error) {
    if (error instanceof PerformError && error.type === 'PathError') return null;
    throw error;
  }
}
