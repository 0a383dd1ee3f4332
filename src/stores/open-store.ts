/** Opens the store that a location names. A new store is added here, and nowhere else outside its own folder. */
import type { Store } from '../runtime/ports.ts';
import { openMemory } from './memory/open.ts';
import { openSqlite } from './sqlite/open.ts';

/** `:memory:` is a store in memory. Any other text is the path of a SQLite file. */
export function openStore(location: string): Store {
  return location === ':memory:' ? openMemory() : openSqlite(location);
}
