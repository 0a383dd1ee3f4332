/**
 * The tables, and how a database gets them. Appends lie in one log in order of arrival, with a small index by run, so that a
 * commit touches few pages. Triggers bind every program that opens the file: rows of the log do not change (L11), have no
 * gaps, and are deleted only together with a whole ended run, which leaves a tombstone.
 *
 * A BEFORE INSERT trigger stops `INSERT OR REPLACE`, whose implicit delete fires no delete trigger.
 *
 * A migration, once released, is never edited; a change is a new one at the end. `user_version` counts those applied.
 */
import type { DatabaseSync } from 'node:sqlite';
import { SluiceError } from '../../runtime/errors.ts';
import { BUCKET, sealAll, sealEnds } from './sealed-run.ts';

const FIRST_SCHEMA = `
-- One row. The id is part of idempotency keys; tombstones is the last link of the chain of tombstones.
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  tombstones TEXT NOT NULL
) STRICT;
INSERT INTO store VALUES (1, lower(hex(randomblob(16))), '');

CREATE TABLE flows (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE workers (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL UNIQUE,
  until INTEGER NOT NULL,
  fenced INTEGER NOT NULL DEFAULT 0,
  process TEXT
) STRICT;

-- AUTOINCREMENT: an id that was used again would match a tombstone.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL UNIQUE,
  graph INTEGER NOT NULL REFERENCES flows (id),
  flow TEXT NOT NULL,
  notation TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'suspended', 'completed', 'failed', 'cancelled')),
  code TEXT,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due INTEGER,
  owner INTEGER REFERENCES workers (id)
) STRICT;
CREATE INDEX runs_by_owner ON runs (owner, status, due);
CREATE INDEX runs_by_graph ON runs (graph);
CREATE INDEX runs_by_notation ON runs (notation, started_at);

CREATE TABLE tombstones (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id INTEGER NOT NULL UNIQUE,
  run TEXT NOT NULL UNIQUE,
  events INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  link TEXT NOT NULL
) STRICT;
-- The id of a removed run cannot be used again.
CREATE TRIGGER runs_insert BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM tombstones WHERE run = NEW.run)
BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER tombstones_insert BEFORE INSERT ON tombstones
WHEN NOT EXISTS (SELECT 1 FROM runs WHERE id = NEW.id AND status IN ('completed', 'failed', 'cancelled'))
  OR EXISTS (SELECT 1 FROM tombstones WHERE id = NEW.id OR run = NEW.run OR number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'only a run that has ended can be removed, and only once'); END;
CREATE TRIGGER tombstones_update BEFORE UPDATE ON tombstones
BEGIN SELECT RAISE(ABORT, 'tombstones are append-only'); END;
CREATE TRIGGER tombstones_delete BEFORE DELETE ON tombstones
BEGIN SELECT RAISE(ABORT, 'tombstones are append-only'); END;

CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  after INTEGER NOT NULL,
  count INTEGER NOT NULL CHECK (count > 0),
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_by_run ON log (run, after);
-- Also serves as the foreign key: the first append of a run needs its row in runs.
CREATE TRIGGER log_insert BEFORE INSERT ON log
WHEN NEW.after IS NOT coalesce(
    (SELECT after + count FROM log WHERE run = NEW.run ORDER BY after DESC LIMIT 1),
    (SELECT 0 FROM runs WHERE id = NEW.run))
  OR EXISTS (SELECT 1 FROM log WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the log is append-only and has no gaps'); END;
CREATE TRIGGER log_update BEFORE UPDATE ON log
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_delete BEFORE DELETE ON log
WHEN NOT EXISTS (SELECT 1 FROM tombstones WHERE id = OLD.run)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (id),
  hash TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX blobs_by_run ON blobs (run, hash);
CREATE TRIGGER blobs_insert BEFORE INSERT ON blobs
WHEN EXISTS (SELECT 1 FROM blobs WHERE run = NEW.run AND hash = NEW.hash) OR EXISTS (SELECT 1 FROM blobs WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
CREATE TRIGGER blobs_update BEFORE UPDATE ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
CREATE TRIGGER blobs_delete BEFORE DELETE ON blobs
WHEN NOT EXISTS (SELECT 1 FROM tombstones WHERE id = OLD.run)
BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;

CREATE TABLE snapshots (
  run INTEGER PRIMARY KEY REFERENCES runs (id),
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE mail (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs (id),
  fact TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX mail_by_run ON mail (run);
`;

const SHARED_SCHEMA = `
-- Values that all processes share: circuit breakers, the retry budget.
CREATE TABLE shared (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What operators did to them by hand.
CREATE TABLE acts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  key TEXT NOT NULL,
  why TEXT NOT NULL,
  link TEXT NOT NULL
) STRICT;
CREATE TRIGGER acts_update BEFORE UPDATE ON acts
BEGIN SELECT RAISE(ABORT, 'acts are append-only'); END;
CREATE TRIGGER acts_delete BEFORE DELETE ON acts
BEGIN SELECT RAISE(ABORT, 'acts are append-only'); END;
`;

const OWNER_SCHEMA = `
-- Null: the run has no tenant, no user, no parent.
ALTER TABLE runs ADD COLUMN tenant TEXT;
ALTER TABLE runs ADD COLUMN user TEXT;
ALTER TABLE runs ADD COLUMN parent TEXT;
`;

const SIGNED_SCHEMA = `
-- Signatures over the ends of chains.
CREATE TABLE checkpoints (
  run INTEGER NOT NULL REFERENCES runs (id),
  seq INTEGER NOT NULL,
  head TEXT NOT NULL,
  at INTEGER NOT NULL,
  key TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER checkpoints_insert BEFORE INSERT ON checkpoints
WHEN EXISTS (SELECT 1 FROM checkpoints WHERE run = NEW.run AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;
CREATE TRIGGER checkpoints_update BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;
CREATE TRIGGER checkpoints_delete BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM tombstones WHERE id = OLD.run)
BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;

-- The link of the last act, so that a missing one at the end is found.
ALTER TABLE store ADD COLUMN acts TEXT NOT NULL DEFAULT '';
UPDATE store SET acts = coalesce((SELECT link FROM acts ORDER BY number DESC LIMIT 1), '');

-- A hash of store, key and value. The states of protections start over.
DELETE FROM shared;
ALTER TABLE shared ADD COLUMN hash TEXT NOT NULL DEFAULT '';
`;

const SEALED_SCHEMA = `
-- The end of the chain and the number of checkpoints, kept apart from their tables, and a hash of the row without its owner.
ALTER TABLE runs ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN head TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN signed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN seal TEXT NOT NULL DEFAULT '';
UPDATE runs SET
  events = coalesce((SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1), 0),
  head = coalesce((SELECT hash FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1), ''),
  signed = (SELECT count(*) FROM checkpoints WHERE run = runs.id);
CREATE INDEX runs_by_bucket ON runs (${BUCKET});
CREATE INDEX tombstones_by_bucket ON tombstones (${BUCKET});

-- Sums over the rows of a bucket, and over all of these sums.
CREATE TABLE seals (
  bucket INTEGER PRIMARY KEY,
  sum TEXT NOT NULL
) STRICT;
ALTER TABLE store ADD COLUMN seal TEXT NOT NULL DEFAULT '';
`;

const ENDS_SCHEMA = `
-- The ends of runs that work, so that an append changes no row of runs. Row 0 has the sum over the seals of the others.
CREATE TABLE ends (
  run INTEGER PRIMARY KEY,
  events INTEGER NOT NULL,
  head TEXT NOT NULL,
  signed INTEGER NOT NULL,
  seal TEXT NOT NULL
) STRICT;
`;

const EXPORTED_SCHEMA = `
-- The tenant of a removed run, and the file to which it was exported.
ALTER TABLE tombstones ADD COLUMN tenant TEXT;
ALTER TABLE tombstones ADD COLUMN file TEXT;
`;

const END_SEALS_SCHEMA = '-- The seals of ends are hexadecimal numbers, and add up as they are.';

export const MIGRATIONS: readonly string[] = [
  FIRST_SCHEMA,
  SHARED_SCHEMA,
  OWNER_SCHEMA,
  SIGNED_SCHEMA,
  SEALED_SCHEMA,
  ENDS_SCHEMA,
  EXPORTED_SCHEMA,
  END_SEALS_SCHEMA,
];
const SEALED_VERSION = MIGRATIONS.indexOf(SEALED_SCHEMA) + 1;
const END_SEALS_VERSION = MIGRATIONS.indexOf(END_SEALS_SCHEMA) + 1;

/** "slce": marks a file as ours. */
const APPLICATION_ID = 0x736c6365;

export function migrate(db: DatabaseSync, path: string, steps: readonly string[] = MIGRATIONS): void {
  if (examine(db, path, steps.length) === steps.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have migrated the file since.
    const from = examine(db, path, steps.length);
    for (const step of steps.slice(from)) db.exec(step);
    if (from < SEALED_VERSION) sealAll(db);
    if (from < END_SEALS_VERSION) sealEnds(db);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** The number of steps that were applied. Throws when the file is not ours or is from a newer release. */
export function examine(db: DatabaseSync, path: string, known: number = MIGRATIONS.length): number {
  const { version, application, empty } = inOneRead(db, () => ({
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
      `\`${path}\` has schema version ${version}; this release knows versions up to ${known}`,
      'use the release that wrote it, or a later one',
    );
  }
  return version;
}

/** One transaction: a file that another process is creating would look foreign half-way. */
function inOneRead<T>(db: DatabaseSync, read: () => T): T {
  if (db.isTransaction) return read();
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    // On a full disk SQLite has already rolled back; a second ROLLBACK would hide the first error.
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
