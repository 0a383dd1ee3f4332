/**
 * The physical limit: the plainest loop over node:sqlite that writes one 300-byte row per step, as durable as an engine
 * must be and with the same chances to batch. There is no engine here, so nothing can be faster on the same disk.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bytesOnDisk, withDir } from './disk.ts';
import { liveHeap, metered, payload, timed } from './gauge.ts';
import { HISTORY_SIZES, RESUME_SIZES } from './shape.ts';
import type { Contestant, Measurement, Point } from './shape.ts';

const ROW = payload(300);
const PAUSED_RUNS = 10_000;

export const bare: Contestant = {
  name: 'bare',
  version: `node:sqlite ${process.versions['sqlite'] ?? ''}`,
  shapes: {
    'chain-100': () => writing((log) => rows(log, 100)),
    'loop-1000': () => writing((log) => rows(log, 1_000)),
    'fanout-1000': () => writing((log) => batch(log, 1_000)),
    'runs-1000x10': () =>
      writing((log) => {
        for (let seq = 0; seq < 10; seq += 1) round(log, seq, 1_000);
      }),
    'paused-10000': paused,
    'resume-10000': () => reading(10_000, 'SELECT body FROM step ORDER BY id'),
    'resume-snapshot': resumeSnapshot,
    'state-1mb-100': state,
    'history-n': history,
  },
  missing: { 'compile-2000': 'nothing to write' },
};

interface Log {
  append: (run: number, seq: number, body: string) => void;
  exec: (sql: string) => void;
  close: () => void;
}

function openLog(dir: string): Log {
  const db = new DatabaseSync(join(dir, 'bare.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  db.exec(
    'CREATE TABLE IF NOT EXISTS step (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, body TEXT NOT NULL) STRICT',
  );
  // A row that cannot be found again by its run and its place in it would not be a record of anything.
  db.exec('CREATE UNIQUE INDEX IF NOT EXISTS step_by_run ON step (run, seq)');
  const insert = db.prepare('INSERT INTO step (run, seq, body) VALUES (?, ?, ?)');
  const append: Log['append'] = (run, seq, body) => void insert.run(run, seq, body);
  return { append, exec: (sql) => db.exec(sql), close: () => db.close() };
}

/** Steps of one run, each durable before the next. */
function rows(log: Log, count: number): void {
  for (let step = 0; step < count; step += 1) log.append(1, step, ROW);
}

/** Steps of one run that may share a commit. */
function batch(log: Log, count: number): void {
  log.exec('BEGIN');
  rows(log, count);
  log.exec('COMMIT');
}

/** One step of each of many runs, in one commit. */
function round(log: Log, seq: number, runs: number): void {
  log.exec('BEGIN');
  for (let run = 0; run < runs; run += 1) log.append(run, seq, ROW);
  log.exec('COMMIT');
}

function writing(work: (log: Log) => void): Promise<Measurement> {
  return withDir('bare', async (dir) => {
    const log = openLog(dir);
    const ms = await timed(() => work(log));
    log.close();
    return { ms };
  });
}

function reading(count: number, query: string): Promise<Measurement> {
  return withDir('bare', async (dir) => {
    const log = openLog(dir);
    batch(log, count);
    log.close();
    const ms = await timed(() => {
      const db = new DatabaseSync(join(dir, 'bare.db'));
      if (db.prepare(query).all().length === 0) throw new Error('no rows to resume from');
      db.close();
    });
    return { ms };
  });
}

async function resumeSnapshot(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of RESUME_SIZES) {
    points.push({ n, ...(await reading(n, 'SELECT body FROM step ORDER BY id DESC LIMIT 1')) });
  }
  return { points };
}

function paused(): Promise<Measurement> {
  return withDir('bare', async (dir) => {
    const before = await liveHeap();
    const log = openLog(dir);
    round(log, 0, PAUSED_RUNS);
    const after = await liveHeap();
    log.close();
    return { bytesMemory: Math.max(0, after - before) / PAUSED_RUNS, bytesDisk: bytesOnDisk(dir) / PAUSED_RUNS };
  });
}

async function state(): Promise<Measurement> {
  const { bytes } = await session((log) => {
    log.append(0, 0, payload(1_000_000));
    rows(log, 100);
  });
  return bytes === undefined ? {} : { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) points.push({ n, ...(await session((log) => rows(log, n))) });
  return { points };
}

function session(work: (log: Log) => void): Promise<{ ms: number; bytes?: number }> {
  return withDir('bare', (dir) =>
    metered(() => {
      const log = openLog(dir);
      work(log);
      log.close();
    }),
  );
}
