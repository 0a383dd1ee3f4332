/** The database behind the commands that only look: opened where it is there, and never made by looking. */
import { existsSync } from 'node:fs';
import { openSqlite } from '../../stores/sqlite/open.ts';
import { nearest } from '../../compile/diagnose/nearest.ts';
import type { Command, Fact, RunId } from '../../ir/events.ts';
import type { Store } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import type { Cli } from './context.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { outstanding } from '../../core/outstanding.ts';
import { settle } from '../../core/settle.ts';
import { readRun } from '../../runtime/journal/read.ts';

/** `look` gets null where there is no database yet, which is no error unless it was named: nothing has run. */
export async function withStore<Result>(cli: Cli, look: (store: Store | null) => Promise<Result>): Promise<Result> {
  if (isAbsent(cli)) return look(null);
  const store = openSqlite(cli.db);
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

/** The run that is meant: its id, or the beginning of it where that is unambiguous. */
export async function findRun(store: Store | null, given: string, db: string): Promise<RunId> {
  if (store === null)
    throw new SluiceError(
      'run-not-found',
      `there is no run \`${given}\`: no database at \`${db}\` yet`,
      'Name another one with `--db`.',
    );
  if ((await store.roster.find(given)) !== null) return given;
  const runs = (await store.roster.list()).map(({ run }) => run);
  const begun = runs.filter((run) => run.startsWith(given));
  if (begun.length === 1) return begun[0] as RunId;
  if (begun.length > 1)
    throw new SluiceError(
      'run-not-found',
      `\`${given}\` is the beginning of ${begun.length} runs`,
      'Type a few more of its letters.',
    );
  const near = nearest(given, runs);
  throw new SluiceError(
    'run-not-found',
    `there is no run \`${given}\` in \`${db}\``,
    near === undefined ? 'List them with `sluice runs`.' : `Did you mean \`${near}\`?`,
  );
}

/** Whatever changes a run needs one to be there; a database is not made just to find it empty. */
export function demandDatabase(cli: Cli, code: 'run-not-found' | 'approval-not-found', message: string): void {
  if (isAbsent(cli))
    throw new SluiceError(code, `${message}: no database at \`${cli.db}\` yet`, 'Name another one with `--db`.');
}

/** One that was named and is not there is a slip of the pen, and finding nothing in it would hide that. */
function isAbsent({ db, dbNamed }: Cli): boolean {
  if (existsSync(db)) return false;
  if (!dbNamed) return true;
  throw new SluiceError(
    'journal-unavailable',
    `there is no database at \`${db}\``,
    'Check the path; `sluice run` makes one where there is none.',
  );
}

interface Head {
  readonly flow: CompiledFlow;
  readonly seq: number;
}

export async function headOf(store: Store, run: RunId): Promise<Head> {
  const stored = await store.journal.load(run);
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
  const last = stored.appends[stored.appends.length - 1];
  return {
    flow: JSON.parse(stored.flow) as CompiledFlow,
    seq: last === undefined ? (stored.snapshot?.seq ?? 0) : last.after + last.count,
  };
}

export interface Foreseen {
  readonly flow: CompiledFlow;
  readonly commands: readonly Command[];
}

/** Nothing, where it would be refused: the engine says why. */
export async function foresee({ journal }: Store, run: RunId, fact: Fact): Promise<Foreseen> {
  const { program, state: before } = await readRun(journal, run);
  const { state, refusals } = settle(program, before, [fact], Date.now());
  const commands = state === null || refusals.size > 0 ? [] : outstanding(program, state).commands;
  return { flow: program.flow, commands };
}
