/**
 * The tables, and how a database gets them. Appends lie in one log in order of arrival, with a small index by run, so that a
 * commit touches few pages. Triggers apply to every program that opens the file: rows of the log do not change (L11), have no
 * gaps, and are deleted only together with a whole ended run, which leaves a tombstone.
 *
 * A BEFORE INSERT trigger stops `INSERT OR REPLACE`, whose implicit delete fires no delete trigger.
 *
 * `user_version` is the version of the schema. A file with another version is refused: no release has written one.
 */
import type { DatabaseSync } from 'node:sqlite';
import { SluiceError } from '@sluice-internal/engine/ports';
import { atOnce } from './database.ts';

export const SCHEMA = `
-- One row. The id is part of idempotency keys; tombstones and acts are the last links of these chains, so that a missing one
-- at the end is found. shared is the number of shared values.
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  tombstones TEXT NOT NULL DEFAULT '',
  acts TEXT NOT NULL DEFAULT '',
  shared INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO store (one, id) VALUES (1, lower(hex(randomblob(16))));

-- The chains of heads: one chain for each process that writes, one row for each commit. A chain has the id of its first row.
CREATE TABLE heads (
  id INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER heads_insert BEFORE INSERT ON heads
WHEN EXISTS (SELECT 1 FROM heads WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the chains of heads are append-only'); END;
CREATE TRIGGER heads_update BEFORE UPDATE ON heads
BEGIN SELECT RAISE(ABORT, 'the chains of heads are append-only'); END;
-- One row may stand for all rows before it.
CREATE TRIGGER heads_delete BEFORE DELETE ON heads
WHEN OLD.id = (SELECT max(id) FROM heads)
  OR NOT EXISTS (SELECT 1 FROM heads WHERE id = (SELECT max(id) FROM heads) AND body ->> '$.cut' IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the chains of heads are append-only'); END;

CREATE TABLE flows (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

-- "until" is in milliseconds since the start of the machine; "term" is the length of the lease when it was renewed.
CREATE TABLE workers (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL UNIQUE,
  until INTEGER NOT NULL,
  term INTEGER NOT NULL,
  fenced INTEGER NOT NULL DEFAULT 0,
  process TEXT
) STRICT;

-- AUTOINCREMENT: an id that was used again would match a tombstone. Tenant, user, thread and parent may be null. details is a
-- hash of the rows of the run in run_facts and questions. The check of the status uses OR, because SQLite builds a table for
-- the list of an IN with every statement.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL UNIQUE,
  graph INTEGER NOT NULL REFERENCES flows (id),
  flow TEXT NOT NULL,
  notation TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'running' OR status = 'suspended' OR status = 'completed'
    OR status = 'failed' OR status = 'cancelled'),
  code TEXT,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due INTEGER,
  owner INTEGER REFERENCES workers (id),
  tenant TEXT,
  user TEXT,
  thread TEXT,
  parent TEXT,
  details TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX runs_by_owner ON runs (owner, status, due);
CREATE INDEX runs_by_graph ON runs (graph);
CREATE INDEX runs_by_notation ON runs (notation, started_at);
-- Lists have the latest run first. Each index also has the id of the row.
CREATE INDEX runs_by_start ON runs (started_at);
CREATE INDEX runs_by_status ON runs (status);
CREATE INDEX runs_by_change ON runs (status, updated_at);
CREATE INDEX runs_by_flow ON runs (flow);
CREATE INDEX runs_by_code ON runs (code) WHERE code IS NOT NULL;
CREATE INDEX runs_by_tenant ON runs (tenant) WHERE tenant IS NOT NULL;
CREATE INDEX runs_by_user ON runs (user) WHERE user IS NOT NULL;
CREATE INDEX runs_by_thread ON runs (thread) WHERE thread IS NOT NULL;

-- What lists show of a run. Both tables follow from the journals, and are written in the commit that changes them.
CREATE TABLE run_facts (
  run INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_micros INTEGER NOT NULL,
  questions INTEGER NOT NULL,
  node TEXT,
  error TEXT,
  message TEXT
) STRICT;
CREATE TABLE questions (
  run INTEGER NOT NULL,
  position INTEGER NOT NULL,
  question TEXT NOT NULL,
  node TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER,
  tenant TEXT,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_by_time ON questions (asked_at DESC, run DESC, position);
CREATE INDEX questions_by_tenant ON questions (tenant, asked_at DESC, run DESC, position) WHERE tenant IS NOT NULL;

-- A removed run. The file is its export.
CREATE TABLE tombstones (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id INTEGER NOT NULL UNIQUE,
  run TEXT NOT NULL UNIQUE,
  events INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  link TEXT NOT NULL,
  tenant TEXT,
  file TEXT
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

-- AUTOINCREMENT: the ids are cursors, so that of a removed run is not used again.
CREATE TABLE log (
  id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
  run INTEGER NOT NULL,
  after INTEGER NOT NULL,
  count INTEGER NOT NULL CHECK (count > 0),
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_by_run ON log (run, after);
-- Also serves as the foreign key: the first append of a run needs its row in runs. NEW.id is -1 if the statement names no id.
CREATE TRIGGER log_insert BEFORE INSERT ON log
WHEN NEW.after IS NOT coalesce(
    (SELECT after + count FROM log WHERE run = NEW.run ORDER BY after DESC LIMIT 1),
    (SELECT 0 FROM runs WHERE id = NEW.run))
  OR (NEW.id > 0 AND EXISTS (SELECT 1 FROM log WHERE id = NEW.id))
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

-- posted is the row in heads that records it.
CREATE TABLE mail (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs (id),
  fact TEXT NOT NULL,
  hash TEXT NOT NULL,
  posted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX mail_by_run ON mail (run);

-- Values that all processes share: circuit breakers, the retry budget. The hash covers store, key and value.
CREATE TABLE shared (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  hash TEXT NOT NULL
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

-- The ends of runs, apart from the log, so that an append changes no row of runs: the number of events, the last hash, the number
-- of signed checkpoints, a hash of the listing, and the last row in heads that names the run. The rows of removed runs stay.
CREATE TABLE ends (
  run INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  events INTEGER NOT NULL,
  head TEXT NOT NULL,
  signed INTEGER NOT NULL,
  listing TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
`;

const VERSION = 15;

/** "slce": marks a file as ours. */
const APPLICATION_ID = 0x736c6365;

/** Creates the tables in a new file. */
export function createTables(db: DatabaseSync, path: string): void {
  if (!isNew(db, path)) return;
  atOnce(db, () => {
    // Another process may have created them since.
    if (!isNew(db, path)) return;
    db.exec(SCHEMA);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`);
  });
}

/** True for an empty file. Throws if the file belongs to another program, or has another version of the schema. */
export function isNew(db: DatabaseSync, path: string): boolean {
  const { version, application, empty } = inOneRead(db, () => ({
    version: pragma(db, 'user_version'),
    application: pragma(db, 'application_id'),
    empty: isEmpty(db),
  }));
  if (application === 0 && version === 0 && empty) return true;
  if (application !== APPLICATION_ID)
    throw new SluiceError(
      'journal-damaged',
      `\`${path}\` is a database of another program`,
      'Name another file for the journal.',
    );
  if (version > VERSION)
    throw new SluiceError(
      'journal-newer',
      `\`${path}\` has schema version ${version}; this release reads version ${VERSION}`,
      'Use the release that wrote it, or a later one.',
    );
  if (version < VERSION)
    throw new SluiceError(
      'journal-older',
      `\`${path}\` has schema version ${version}, from before the first release; this release reads version ${VERSION}`,
      'Name another file for the journal.',
    );
  return false;
}

/** One transaction: otherwise a file that another process is creating could look like a foreign one. */
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
