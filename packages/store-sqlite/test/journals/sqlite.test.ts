/** The store on SQLite keeps every promise of a store. */
import { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import type { Store } from '@sluice-internal/engine/ports';
import { openSqlite } from '../../src/open.ts';
import type { SqliteOptions } from '../../src/open.ts';
import { journalSuite } from '../../../testing/src/journal-suite.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();
const paths = new WeakMap<Store, string>();
const open = (path: string, options: SqliteOptions): Store => {
  const store = openSqlite(path, { busyMs: 20, ...options });
  paths.set(store, path);
  return store;
};
journalSuite({ test }, 'sqlite', (given) => open(freshPath(), given), {
  again: (store, given) => open(paths.get(store) ?? '', given),
  // A process that keeps the file locked.
  cut: (store) => {
    const other = new DatabaseSync(paths.get(store) ?? '');
    other.exec('BEGIN EXCLUSIVE');
    return () => other.close();
  },
});
