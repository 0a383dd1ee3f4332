/**
 * Opens the store that a location names. A new store is added here, and nowhere else outside its own folder. The option `--db` of the
 * command line takes files only.
 */
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { openMemory } from '@sluice-internal/engine/memory';
import { openSqlite } from '@sluice-internal/store-sqlite';

export interface StoreOptions {
  /** Opens without writing anything, as auditors need it. The file and its folder may be read-only. */
  readonly readOnly?: boolean;
  /** A message for the operator, for example about a file that other users can read. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** `:memory:` is a store in memory. Any other text is the path of a SQLite file. */
export function openStore(location: string, options: StoreOptions = {}): Store {
  const file = fileOf(location);
  return file === undefined ? openMemory() : openSqlite(file, options);
}

/** The file of the store; undefined for a store without one. Other data of the runs lies beside this file. */
export function fileOf(location: string): string | undefined {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(location))
    throw new SluiceError('journal-unavailable', `there is no store for \`${location}\``, 'Name a file: `runs.db`.');
  return location === ':memory:' ? undefined : location;
}
