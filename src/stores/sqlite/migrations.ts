/**
 * Brings a database to the shape that this release writes. A step, once released, is never edited: a change is a new step
 * at the end. `user_version` counts the steps that were taken; a database with more of them than we know is left alone.
 */
import type { DatabaseSync } from 'node:sqlite';
import { SluiceError } from '../../runtime/errors.ts';
import { FIRST_SCHEMA } from './schema.ts';

export const MIGRATIONS: readonly string[] = [
  FIRST_SCHEMA,
  // Which process a worker is, so that one that is certainly dead need not be waited for.
  'ALTER TABLE workers ADD COLUMN holder TEXT',
  // Runs that live count as well when it is decided how many are too many.
  'DROP INDEX runs_ended; CREATE INDEX runs_by_notation ON runs (notation, started_at)',
];

/** "slce": tells our files from those of other programs. */
const APPLICATION_ID = 0x736c6365;

export function migrate(db: DatabaseSync, path: string, steps: readonly string[] = MIGRATIONS): void {
  if (examine(db, path, steps.length) === steps.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have been faster.
    const from = examine(db, path, steps.length);
    for (const step of steps.slice(from)) db.exec(step);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** How many steps the database has taken; throws when it is not for us to touch. */
export function examine(db: DatabaseSync, path: string, known: number = MIGRATIONS.length): number {
  const { version, application, empty } = atOnce(db, () => ({
    version: pragma(db, 'user_version'),
    application: pragma(db, 'application_id'),
    empty: isEmpty(db),
  }));
  const ours = application === APPLICATION_ID || (application === 0 && version === 0 && empty);
  if (!ours)
    throw new SluiceError(
      'journal-damaged',
      `\`${path}\` is a database of another program`,
      'name another file for the journal',
    );
  if (version > known) {
    throw new SluiceError(
      'journal-newer',
      `\`${path}\` has version ${version}, and this release knows versions up to ${known}`,
      'use the release that wrote it, or a later one',
    );
  }
  return version;
}

/** Read at one moment: another process may be creating the file right now, and half of what it does would look foreign. */
function atOnce<T>(db: DatabaseSync, read: () => T): T {
  if (db.isTransaction) return read();
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    // On a full disk SQLite may have ended it already, and why is what we want to hear.
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
