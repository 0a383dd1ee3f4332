/**
 * Changes each column of each table of a database in turn, deletes rows, and makes edits of several rows that fit each other, as an
 * attacker with write access would, and then continues the run. The run must pay the right person once or be refused with a typed
 * error, and the audit must find the change.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { compile, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { audit } from '@sluice-internal/engine/audit';
import { auditShared, auditTombstones, createSigner, withCheckpoints } from '@sluice-internal/engine/journal';
import { SluiceError, operate } from '@sluice-internal/engine/ports';
import { pause } from './part.ts';
import type { Part, Round } from './part.ts';
import { openPayments as open, PAYMENTS as flow, SIGNING_KEY } from './payments.ts';

const WAIT_MS = 20_000;

/** Changes that no audit covers, each with the reason why it does no harm. */
const UNCOVERED: { readonly [change: string]: string } = {
  'workers.id': 'a lease: it decides which process works, not what is done',
  'workers.worker': 'a lease',
  'workers.until': 'a lease',
  'workers.fenced': 'a lease',
  'workers.process': 'a lease',
  'rows of workers': 'leases',
  'runs.owner': 'a lease',
  'mail.id': 'a number inside the database',
  'blobs.id': 'a number inside the database',
  'log.id': 'a number inside the database; the order is in `after`',
  'snapshots.run': 'a snapshot that does not fit the chain is not used',
  'snapshots.seq': 'a snapshot that does not fit the chain is not used',
  'snapshots.hash': 'a snapshot that does not fit the chain is not used',
  'rows of snapshots': 'a cache',
  'tombstones.number': 'a number inside the database; the order is in `link`',
  'acts.number': 'a number inside the database; the order is in `link`',
};

export const tampering: Part = {
  name: 'tampering',
  promise: 'no change, deletion or set of fitting edits makes a run act on it, and the audit finds it',
  round: async (seed, size) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-tamper-'));
    try {
      return await round(dir, seed, size);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

async function round(dir: string, seed: number, size: 'short' | 'long'): Promise<Round> {
  const violations: string[] = [];
  const figures = { kinds: 0, changes: 0, refused: 0, harmless: 0 };
  const attack = async (scene: Scene, index: number, name: string, sql: string): Promise<void> => {
    const path = join(dir, `${index}.db`);
    copyFileSync(scene.path, path);
    if (!change(path, sql)) return;
    figures.changes += 1;
    const { problem, refused } = await attempt(path, scene, name);
    if (problem !== null) violations.push(`seed ${seed}: ${sql}: ${problem}`);
    figures[refused ? 'refused' : 'harmless'] += 1;
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  };
  const waiting = await makeDatabase(join(dir, 'waiting.db'), false);
  const ended = await makeDatabase(join(dir, 'ended.db'), true);
  const single = [...columnChanges(waiting.path), ...deletions(waiting.path)];
  const kinds = [
    ...single.map((each) => ({ ...each, scene: waiting })),
    ...fittingChanges(ended.asked).map((each) => ({ ...each, scene: ended })),
  ];
  for (const [index, { name, statements, scene }] of kinds.entries()) {
    figures.kinds += 1;
    const chosen = size === 'long' ? statements : [statements[(seed + index) % statements.length] ?? ''];
    for (const sql of chosen) await attack(scene, index, name, sql);
  }
  return { figures, violations };
}

interface Scene {
  readonly path: string;
  readonly approval: string;
  /** The number of its events when it asked. */
  readonly asked: number;
  /** The run has paid, so it must not pay again. */
  readonly hasPaid: boolean;
}

const ROW = "(SELECT id FROM runs WHERE run = 'r')";
const OTHER = "(SELECT id FROM runs WHERE run = 's3')";
const ALL_OF_RUN = ['log', 'blobs', 'snapshots', 'checkpoints', 'run_facts', 'questions'];

/** Edits of several rows that agree with each other. */
function fittingChanges(asked: number): readonly Change[] {
  const last = `FROM log WHERE run = ${ROW} ORDER BY after DESC LIMIT 1`;
  const cut = `DELETE FROM log WHERE run = ${ROW} AND after >= ${asked};
    UPDATE runs SET status = 'suspended', code = 'CONFIRM_REQUIRED', due = NULL, updated_at = (SELECT at ${last}) WHERE run = 'r';`;
  const head = `UPDATE ends SET events = (SELECT after + count ${last}), head = (SELECT hash ${last}) WHERE run = ${ROW};`;
  const unsign = `DELETE FROM checkpoints WHERE run = ${ROW} AND seq > ${asked};
    UPDATE ends SET signed = (SELECT count(*) FROM checkpoints WHERE run = ends.run) WHERE run = ${ROW};`;
  // The last row of the chains that names the run when it asks.
  const askedAt = `(SELECT id FROM heads WHERE body LIKE '%"r",${asked},%')`;
  const all = `${cut} ${head} ${unsign}`;
  return [
    ['the end cut off, with the status', cut],
    ['the end cut off, with the status and the head', `${cut} ${head}`],
    ['the end cut off, with the status, the head and the checkpoints', all],
    ['the end cut off, with all of it and the chains deleted', `${all} DELETE FROM heads`],
    ['the end cut off, with all of it and its entries in the chains', `${all} DELETE FROM heads WHERE id > ${askedAt}`],
    ['a run deleted with all its rows', `${ALL_OF_RUN.map(deleteOf).join(';')}; DELETE FROM runs WHERE run = 'r'`],
    [
      'a run deleted with all its rows and its end',
      `${ALL_OF_RUN.map(deleteOf).join(';')}; DELETE FROM runs WHERE run = 'r'; DELETE FROM ends WHERE name = 'r'`,
    ],
    ['the tombstones deleted with their head', "DELETE FROM tombstones; UPDATE store SET tombstones = ''"],
    ['the last tombstone deleted with their head', LAST_TOMBSTONE],
    ['the acts deleted with their head', "DELETE FROM acts; UPDATE store SET acts = ''"],
    ['the logs of two runs exchanged', swap('log')],
    ['the logs, values and checkpoints of two runs exchanged', ['log', 'blobs', 'checkpoints'].map(swap).join(';')],
    ['the names of two runs exchanged', SWAPPED_NAMES],
    ['a run added as a copy', COPIED_RUN],
  ].map(([name = '', sql = '']) => ({ name, statements: [sql] }));
}

const LAST_TOMBSTONE = `DELETE FROM tombstones WHERE run = 's2';
  UPDATE store SET tombstones = (SELECT link FROM tombstones ORDER BY number DESC LIMIT 1)`;

const SWAPPED_NAMES = `UPDATE runs SET run = 'x' WHERE run = 'r'; UPDATE runs SET run = 'r' WHERE run = 's3';
  UPDATE runs SET run = 's3' WHERE run = 'x'`;

const COPIED_RUN = `
  INSERT INTO runs (run, graph, flow, notation, status, code, started_at, updated_at, details)
  SELECT 'copy', graph, flow, notation, status, code, started_at, updated_at, details FROM runs WHERE run = 's3';
  INSERT INTO ends SELECT (SELECT id FROM runs WHERE run = 'copy'), 'copy', events, head, signed, listing, at FROM ends WHERE run = ${OTHER};
  INSERT INTO log (run, after, count, at, body, hash)
  SELECT (SELECT id FROM runs WHERE run = 'copy'), after, count, at, body, hash FROM log WHERE run = ${OTHER}`;

function deleteOf(table: string): string {
  return `DELETE FROM ${table} WHERE run = ${ROW}`;
}

function swap(table: string): string {
  return `UPDATE ${table} SET run = -1 WHERE run = ${ROW}; UPDATE ${table} SET run = ${ROW} WHERE run = ${OTHER};
    UPDATE ${table} SET run = ${OTHER} WHERE run = -1`;
}

const { flow: steps } = compile({ steps: [{ name: 'one', agent_name: 'worker' }] });

/** A database with two removed runs, one that has ended, and a run with a snapshot and values that waits, or has paid. */
async function makeDatabase(path: string, hasPaid: boolean): Promise<Scene> {
  const engine = open(path, []);
  for (const run of ['s1', 's2', 's3']) {
    await engine.start(steps as CompiledFlow, { run });
    await engine.settled(run);
  }
  await engine.start(flow, { run: 'r' });
  const { waiting } = await engine.settled('r');
  const approval = waiting[0]?.id ?? '';
  const db = new DatabaseSync(path);
  const asked = db.prepare('SELECT max(after + count) AS seq FROM log WHERE run = (SELECT max(id) FROM runs)').get();
  if (hasPaid) {
    await engine.answer(approval, { choice: 'approve', by: 'bob' });
    await engine.settled('r');
  }
  await engine.close();
  const store = openSqlite(path);
  for (const why of ['first', 'second'])
    await operate(store.shared, { at: 1, by: 'ann', what: 'open', key: 'breaker:a@m', why }, () => ({
      status: 'open',
    }));
  await store.mail.post('s3', { type: 'answer', id: 'a_s3.1', answer: { choice: 'reject', by: 'bob' } });
  await store.close();
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return { path, approval, asked: Number(asked?.['seq']), hasPaid };
}

interface Change {
  /** A column, or the kind of change. */
  readonly name: string;
  readonly statements: readonly string[];
}

function columnChanges(path: string): Change[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const found = tablesOf(db).flatMap((table) =>
    db
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map((row) => ({ name: `${table}.${String(row['name'])}`, statements: statementsFor(table, row) })),
  );
  db.close();
  return found;
}

/** The first row, the last one, and all. */
function deletions(path: string): Change[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const found = tablesOf(db).map((table) => {
    const row = ROW_OF[table] ?? 'rowid';
    const one = (which: string): string =>
      `DELETE FROM ${table} WHERE ${row} = (SELECT ${which}(${row}) FROM ${table})`;
    return { name: `rows of ${table}`, statements: [one('max'), one('min'), `DELETE FROM ${table}`] };
  });
  db.close();
  return found;
}

function tablesOf(db: DatabaseSync): string[] {
  return db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ name }) => String(name));
}

function statementsFor(table: string, { name, type, notnull }: { [column: string]: unknown }): string[] {
  // Tables without row numbers have their first key column.
  const row = ROW_OF[table] ?? 'rowid';
  const one = `WHERE ${row} = (SELECT max(${row}) FROM ${table})`;
  const set = (value: string, where: string): string => `UPDATE ${table} SET ${String(name)} = ${value} ${where}`;
  const values =
    type === 'INTEGER'
      ? [`${String(name)} + 1`, `${String(name)} - 1`, '0', '4611686018427387904']
      : [`replace(${String(name)}, 'ann', 'eve')`, `${String(name)} || 'x'`, `''`, `'{}'`];
  const first = `WHERE ${row} = (SELECT min(${row}) FROM ${table})`;
  return [...values, ...(notnull === 1 ? [] : ['NULL'])].flatMap((value) => [set(value, one), set(value, first)]);
}

const ROW_OF: { readonly [table: string]: string } = { shared: 'key', checkpoints: 'run' };

/** Whether the statements changed a row; those that the schema itself refuses did not. */
function change(path: string, sql: string): boolean {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const dump = (): string => JSON.stringify(tablesOf(db).map((table) => db.prepare(`SELECT * FROM ${table}`).all()));
  try {
    // The triggers are put back, because the audit would find their absence.
    const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all();
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
    const before = dump();
    db.exec(sql);
    for (const { sql: trigger } of triggers) db.exec(String(trigger));
    return dump() !== before;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

async function attempt(
  path: string,
  { approval, hasPaid }: Scene,
  name: string,
): Promise<{ problem: string | null; refused: boolean }> {
  const paid: unknown[] = [];
  const problems: string[] = [];
  let refused = false;
  const refuse = (error: unknown): void => {
    refused = true;
    if (!(error instanceof SluiceError)) problems.push(`untyped error: ${String(error)}`);
  };
  const found = await isFound(path).catch((error: unknown) => {
    refuse(error);
    return true;
  });
  if (!found && UNCOVERED[name] === undefined) problems.push('the audit does not find it');
  try {
    const engine = open(path, paid);
    const work = engine.answer(approval, { choice: 'approve', by: 'bob' }).then(() => engine.settled('r'));
    const ended = await Promise.race([work.then(() => true).catch(refuse), pause(WAIT_MS)]);
    if (ended === undefined && !refused) problems.push(`no end within ${WAIT_MS} ms`);
    // The id of a removed run never starts again.
    const restarted = await engine.start(steps as CompiledFlow, { run: 's1' }).catch((error: unknown) => error);
    if (!(restarted instanceof SluiceError)) problems.push(`a removed run was not refused: ${String(restarted)}`);
    await engine.close().catch(refuse);
  } catch (error) {
    refuse(error);
  }
  const payees = paid.map((entry) => JSON.stringify((entry as [unknown])[0]));
  if (payees.length > (hasPaid ? 0 : 1)) problems.push(`paid ${payees.length} times`);
  if (payees.some((args) => args !== '{"to":"ann"}')) problems.push(`paid ${payees.join(', ')}`);
  return { problem: problems.length === 0 ? null : problems.join('; '), refused };
}

async function isFound(path: string): Promise<boolean> {
  const store = openSqlite(path);
  const { key } = createSigner(SIGNING_KEY);
  try {
    for (const { run } of (await store.index.list()).items) {
      const entry = await store.index.find(run);
      const checkpoints = (await store.journal.checkpoints?.(run)) ?? [];
      const appends = (await store.journal.load(run, { snapshot: false }))?.appends ?? [];
      const signed = { store: store.id, run, appends, checkpoints, entry };
      if (!withCheckpoints(await audit(store.journal, run, entry), signed, key).ok) return true;
    }
    if ((await store.journal.broken?.()) !== null) return true;
    return !(await auditTombstones(store.index)).ok || !(await auditShared(store.shared)).ok;
  } finally {
    await store.close();
  }
}
