/** Opens the store that a location names. A new store is added here, and nowhere else outside its own folder. */
import type { Store } from '@sluice-internal/engine/ports';
import { openMemory } from '@sluice-internal/engine/memory';
import { openPostgres } from '@sluice-internal/store-postgres';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { fileAt, isAddress } from './location.ts';

export interface StoreOptions {
  /** Opens without writing anything, as auditors need it. The file and its folder may be read-only. */
  readonly readOnly?: boolean;
  /** A message for the operator, for example about a file that other users can read. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** `:memory:` is a store in memory, `postgres://…` one in Postgres. Any other location is a SQLite file, as a path or as `sqlite:PATH`. */
export function openStore(location: string, options: StoreOptions = {}): Store {
  if (isAddress(location)) return openPostgres(location, options);
  const file = fileAt(location);
  return file === undefined ? openMemory() : openSqlite(file, options);
}
