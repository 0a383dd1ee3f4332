/** The store on SQLite keeps every promise of a store. */
import { test } from 'vitest';
import { openSqlite } from '../../src/stores/sqlite/open.ts';
import { journalSuite } from '../../src/surfaces/testing/journal-suite.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();
journalSuite({ test }, 'sqlite', () => openSqlite(freshPath()));
