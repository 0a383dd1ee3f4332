/** The store on SQLite keeps every promise of a store. */
import { test } from 'vitest';
import { openSqlite } from '../../src/open.ts';
import { journalSuite } from '../../../testing/src/journal-suite.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();
journalSuite({ test }, 'sqlite', () => openSqlite(freshPath()));
