/**
 * The first shape of the database. Appends lie in one log in the order of their arrival, with a small index by run, so that
 * a commit touches few pages. The triggers hold for whoever opens the file: what is in the log stays as it is (L11), has no
 * gaps, and goes only together with a whole ended run, of which a tombstone remains.
 *
 * A BEFORE INSERT trigger is what stops `INSERT OR REPLACE`: its implicit delete fires no delete trigger by default.
 */
export const FIRST_SCHEMA = `
CREATE TABLE flows (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE workers (
  id INTEGER PRIMARY KEY,
  worker TEXT NOT NULL UNIQUE,
  until INTEGER NOT NULL,
  fenced INTEGER NOT NULL DEFAULT 0
) STRICT;

-- AUTOINCREMENT, since a number that was used again would inherit a tombstone.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL UNIQUE,
  graph INTEGER NOT NULL REFERENCES flows (id),
  flow TEXT NOT NULL,
  notation TEXT NOT NULL,
  status TEXT NOT NULL,
  code TEXT,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due INTEGER,
  owner INTEGER REFERENCES workers (id)
) STRICT;
CREATE INDEX runs_by_owner ON runs (owner, status, due);
CREATE INDEX runs_by_graph ON runs (graph);
CREATE INDEX runs_ended ON runs (notation, started_at) WHERE status IN ('completed', 'failed', 'cancelled');

CREATE TABLE tombstones (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL,
  events INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER tombstones_insert BEFORE INSERT ON tombstones
WHEN NOT EXISTS (SELECT 1 FROM runs WHERE id = NEW.id AND status IN ('completed', 'failed', 'cancelled'))
  OR EXISTS (SELECT 1 FROM tombstones WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'only a run that has ended can be forgotten, and only once'); END;
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
-- Stands in for a foreign key too: only a run that exists has an event 0 to come after.
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
  fact TEXT NOT NULL
) STRICT;
CREATE INDEX mail_by_run ON mail (run);
`;
