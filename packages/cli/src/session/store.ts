/** Opens the database for reading at the start of a command. Reading never creates one. */
import { closing, forTenant, isAddress, openStore, recordIn, withoutPassword } from '@sluice-internal/library/host';
import { openMemory } from '@sluice-internal/engine/memory';
import { didYouMean } from '@sluice-internal/compile/source';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Page, Store, Tombstone } from '@sluice-internal/engine/ports';
import { framed, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import type { ReadOptions } from '@sluice-internal/engine/journal';
import { existsSync } from 'node:fs';

/**
 * `look` gets an empty store if no database exists yet. A missing database that the user named is an error. A command that writes
 * later opens the database for writing at once: one that cannot be written is refused before anything else.
 */
export async function withStore<Result>(
  cli: Cli,
  look: (store: Store) => Promise<Result>,
  readOnly = true,
): Promise<Result> {
  return closing(openIfThere(cli, readOnly), async (store) => {
    await store.ready?.();
    return look(store);
  });
}

/** An empty store if no database exists yet. */
export function openIfThere(cli: Cli, readOnly = false): Store {
  return isAbsent(cli) ? openMemory() : openFor(cli, readOnly);
}

/** The database as the user of the command may see it. */
export function openFor(cli: Cli, readOnly = false): Store {
  const store = openStore(cli.db, { readOnly, onNotice: (message) => cli.warn(message) });
  if (cli.tenant === undefined) return store;
  return forTenant(store, cli.tenant, readOnly ? { record: (act) => recordElsewhere(cli, act) } : {});
}

/** A command that only reads records a refused access through a connection of its own, if the file can be written. */
async function recordElsewhere(cli: Cli, act: Parameters<typeof recordIn>[1]): Promise<void> {
  try {
    await closing(openStore(cli.db), (store) => recordIn(store, act));
  } catch (error) {
    cli.warn(`the refused access could not be recorded: ${(error as Error).message}`);
  }
}

/** Looks at one run, as `findRun` finds it. */
export function withRun<Result>(
  cli: Cli,
  given: string,
  look: (store: Store, run: RunId) => Promise<Result>,
): Promise<Result> {
  return withStore(cli, async (store) => look(store, await findRun(cli, store, given)));
}

/** Finds a run by its id or by an unambiguous prefix. Throws `run-not-found`, also if there is no database. */
export async function findRun(cli: Cli, store: Store, given: string): Promise<RunId> {
  const db = withoutPassword(cli.db);
  demandDatabase(cli, 'run-not-found', `there is no run \`${given}\``);
  if ((await store.index.find(given)) !== null) return given;
  const removed = await store.index.removed(given);
  if (removed !== null) throw removedRun(removed, db);
  const begun = given === '' ? NO_RUNS : await store.index.list({ prefix: given, limit: BEGUN_MAX });
  const [first] = begun.items;
  if (first !== undefined && begun.items.length === 1) return first.run;
  if (first !== undefined) {
    const count = begun.next === null ? String(begun.items.length) : `more than ${BEGUN_MAX}`;
    throw new SluiceError(
      'run-not-found',
      `\`${given}\` is the beginning of ${count} runs`,
      'Type a few more of its letters.',
    );
  }
  const latest = (await store.index.list()).items.map(({ run }) => run);
  const help = didYouMean(given, latest, 'List them with `sluice runs`.');
  throw new SluiceError('run-not-found', `there is no run \`${given}\` in \`${db}\``, help);
}

const BEGUN_MAX = 100;
const NO_RUNS: Page<{ readonly run: RunId }> = { items: [], next: null };

function removedRun({ run, at, file }: Tombstone, db: string): SluiceError {
  const message = `run \`${run}\` was removed from \`${db}\` on ${new Date(at).toISOString()}`;
  if (file === null)
    return new SluiceError('run-not-found', `${message} (\`sluice prune\` or \`retain\`)`, 'It was not exported.');
  const help = `It was exported to \`${file}\`: check it with \`sluice audit verify FILE\`.`;
  return new SluiceError('run-not-found', message, help);
}

/** As `findRun`, for commands that cannot be undone: the beginning of an id is not enough, because it may be that of another run. */
export async function findWholeRun(cli: Cli, store: Store, given: string): Promise<RunId> {
  const found = await findRun(cli, store, given);
  if (found === given) return found;
  throw new SluiceError(
    'run-not-found',
    `there is no run \`${given}\` in \`${withoutPassword(cli.db)}\``,
    `This command cannot be undone, so it takes whole ids. Did you mean \`${found}\`?`,
  );
}

/** With `--unverified`, a changed run is printed as it is stored, with a warning, also with `--json`. */
export function readOptions({ screen }: Cli, { unverified = false }: { readonly unverified?: boolean }): ReadOptions {
  if (!unverified) return {};
  const warned = new Set<string>();
  return {
    onBroken: ({ code, message }) => {
      if (!warned.has(message)) screen.note(`${screen.colors.yellow(`warning[${code}]`)}: ${framed(message)}`);
      warned.add(message);
    },
  };
}

/** Refuses to continue without a database. */
export function demandDatabase(
  cli: Cli,
  code: 'run-not-found' | 'approval-not-found' | 'memory-not-found',
  message: string,
): void {
  if (isAbsent(cli))
    throw new SluiceError(
      code,
      `${message}: no database at \`${withoutPassword(cli.db)}\` yet`,
      'Name another one with `--db`.',
    );
}

/** Refuses a command on data that all tenants share. */
export function demandOperator({ tenant }: Cli, message: string): void {
  if (tenant !== undefined)
    throw new SluiceError('wrong-tenant', message, 'Leave `--tenant` out: this is for an operator.');
}

/** Refuses a flow that no run of the database has. */
export function demandFlow(flow: string | undefined, runs: readonly { readonly flow: string }[]): void {
  const flows = [...new Set(runs.map((each) => each.flow))];
  if (flow === undefined || flows.includes(flow)) return;
  const known = flows.length === 0 ? 'It has no runs yet.' : `It has runs of: ${flows.join(', ')}.`;
  throw usage(`the database has no run of the flow \`${flow}\``, didYouMean(flow, flows, known));
}

/** A missing database that the user named is a mistake in the command. */
function isAbsent({ db, dbNamed }: Cli): boolean {
  // Only the database server knows whether a database at an address exists.
  if (isAddress(db) || existsSync(db)) return false;
  if (!dbNamed) return true;
  throw new SluiceError(
    'journal-unavailable',
    `there is no database at \`${db}\``,
    'Check the path; `sluice run` creates one.',
  );
}
