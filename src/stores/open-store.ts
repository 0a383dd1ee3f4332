/** Opens the store that a location names. A new store is added here, and nowhere else outside its own folder. */
import type { Store } from '../runtime/ports.ts';
import { openMemory } from './memory/open.ts';
import { openSqlite } from './sqlite/open.ts';

export interface StoreOptions {
  /** Opens without writing anything, as auditors need it. The file and its folder may be read-only. */
  readonly readOnly?: boolean;
  /** Something that an operator should know, such as a file that other users can read. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** `:memory:` is a store in memory. Any other text is the path of a SQLite file. */
export function openStore(location: string, options: StoreOptions = {}): Store {
  return location === ':memory:' ? openMemory() : openSqlite(location, options);
}
