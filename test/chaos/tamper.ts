/**
 * Changes each column of each table of a database in turn, as an attacker with write access would, and then continues the run.
 * The run must pay the right person once or be refused with a typed error, and the audit must find the change.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { compile, openSqlite } from '../../src/index.ts';
import type { CompiledFlow } from '../../src/index.ts';
import { audit } from '../../src/runtime/journal/audit.ts';
import { auditTombstones } from '../../src/runtime/journal/audit-entry.ts';
import { SluiceError } from '../../src/runtime/errors.ts';
import { auditShared, withCheckpoints } from '../../src/runtime/journal/audit-checkpoints.ts';
import { createSigner } from '../../src/runtime/journal/checkpoint.ts';
import { pause } from './part.ts';
import type { Part, Round } from './part.ts';
import { openPayments as open, PAYMENTS as flow, SIGNING_KEY } from './payments.ts';

const WAIT_MS = 20_000;

/** Columns that no audit covers, each with the reason why a change of it does no harm. */
const UNCOVERED: { readonly [column: string]: string } = {
  'workers.id': 'a lease: it decides which process works, not what is done',
  'workers.worker': 'a lease',
  'workers.until': 'a lease',
  'workers.fenced': 'a lease',
  'workers.process': 'a lease',
  'runs.owner': 'a lease',
  'runs.graph': 'refused by the hash of the graph, or the same graph',
  'flows.id': 'a number inside the database',
  'mail.id': 'a number inside the database',
  'mail.run': 'the fact names its run by its hash',
  'mail.fact': 'a forged message is refused and announced when it is read',
  'mail.hash': 'a forged message is refused and announced when it is read',
  'blobs.id': 'a number inside the database',
  'log.id': 'a number inside the database; the order is in `after`',
  'snapshots.run': 'a snapshot that does not fit the chain is not used',
  'snapshots.seq': 'a snapshot that does not fit the chain is not used',
  'snapshots.hash': 'a snapshot that does not fit the chain is not used',
  'store.id': 'each run keeps the id with which it started',
  'tombstones.id': 'a number inside the database',
  'tombstones.number': 'a number inside the database; the order is in `link`',
  'acts.number': 'a number inside the database; the order is in `link`',
};

export const tampering: Part = {
  name: 'tampering',
  promise: 'no change of any column makes a run act on it, and the audit finds it',
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
  const original = join(dir, 'original.db');
  const approval = await makeDatabase(original);
  const violations: string[] = [];
  const figures = { columns: 0, changes: 0, refused: 0, harmless: 0 };
  for (const [index, { table, column, statements }] of columnsOf(original).entries()) {
    figures.columns += 1;
    const chosen = size === 'long' ? statements : [statements[(seed + index) % statements.length] ?? ''];
    for (const sql of chosen) {
      const path = join(dir, `${index}.db`);
      copyFileSync(original, path);
      if (!change(path, sql)) continue;
      figures.changes += 1;
      const { problem, refused } = await attempt(path, approval, `${table}.${column}`);
      if (problem !== null) violations.push(`seed ${seed}: ${sql}: ${problem}`);
      figures[refused ? 'refused' : 'harmless'] += 1;
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    }
  }
  return { figures, violations };
}

const { flow: steps } = compile({ steps: [{ name: 'one', agent_name: 'worker' }] });

/** A database with a suspended run, its snapshot and values, two removed runs and one that has ended. */
async function makeDatabase(path: string): Promise<string> {
  const engine = open(path, []);
  for (const run of ['s1', 's2', 's3']) {
    await engine.start(steps as CompiledFlow, { run });
    await engine.settled(run);
  }
  await engine.start(flow, { run: 'r' });
  const { waiting } = await engine.settled('r');
  await engine.close();
  const store = openSqlite(path);
  for (const why of ['first', 'second'])
    await store.shared.operate({ at: 1, by: 'ann', what: 'open', key: 'breaker:a@m', why }, () => ({ status: 'open' }));
  await store.roster.post('s3', { type: 'answer', id: 'a_s3.1', answer: { choice: 'reject', by: 'bob' } });
  await store.close();
  const db = new DatabaseSync(path);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return waiting[0]?.id ?? '';
}

interface ColumnChanges {
  readonly table: string;
  readonly column: string;
  readonly statements: readonly string[];
}

function columnsOf(path: string): ColumnChanges[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ name }) => String(name));
  const found = tables.flatMap((table) =>
    db
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map((row) => ({ table, column: String(row['name']), statements: statementsFor(table, row) })),
  );
  db.close();
  return found;
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

/** Whether the statement changed a row; one that the schema itself refuses did not. */
function change(path: string, sql: string): boolean {
  const db = new DatabaseSync(path);
  try {
    for (const { name } of db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all())
      db.exec(`DROP TRIGGER ${String(name)}`);
    const [, table, column] = /UPDATE (\w+) SET (\w+)/.exec(sql) ?? [];
    const look = db.prepare(`SELECT ${column} FROM ${table} ORDER BY ${ROW_OF[table ?? ''] ?? 'rowid'}`);
    const before = JSON.stringify(look.all());
    db.prepare(sql).run();
    return JSON.stringify(look.all()) !== before;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

async function attempt(
  path: string,
  approval: string,
  column: string,
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
  if (!found && UNCOVERED[column] === undefined) problems.push('the audit does not find it');
  try {
    const engine = open(path, paid);
    const work = engine.answer(approval, { choice: 'approve', by: 'bob' }).then(() => engine.settled('r'));
    const ended = await Promise.race([work.then(() => true).catch(refuse), pause(WAIT_MS)]);
    if (ended === undefined && !refused) problems.push(`no end within ${WAIT_MS} ms`);
    await engine.close().catch(refuse);
  } catch (error) {
    refuse(error);
  }
  const payees = paid.map((entry) => JSON.stringify((entry as [unknown])[0]));
  if (payees.length > 1) problems.push(`paid ${payees.length} times`);
  if (payees.some((args) => args !== '{"to":"ann"}')) problems.push(`paid ${payees.join(', ')}`);
  return { problem: problems.length === 0 ? null : problems.join('; '), refused };
}

async function isFound(path: string): Promise<boolean> {
  const store = openSqlite(path);
  const { key } = createSigner(SIGNING_KEY);
  try {
    for (const { run } of await store.roster.list()) {
      const entry = await store.roster.find(run);
      const checkpoints = (await store.journal.checkpoints?.(run)) ?? [];
      const appends = (await store.journal.load(run, { snapshot: false }))?.appends ?? [];
      const signed = { store: store.id, run, appends, checkpoints, entry };
      if (!withCheckpoints(await audit(store.journal, run, entry), signed, key).ok) return true;
    }
    return !(await auditTombstones(store.roster)).ok || !(await auditShared(store.shared)).ok;
  } finally {
    await store.close();
  }
}
