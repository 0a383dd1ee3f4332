/** A change of any column, by a superuser who switches the triggers off, is found by the audit or by the chain of its run. */
import { beforeAll, expect, test } from 'vitest';
import { audit } from '@sluice-internal/engine/audit';
import { openPostgres } from '../src/open.ts';
import type { PostgresStore } from '../src/open.ts';
import { ENDED, Chain, suspended } from '../../testing/src/suite/sample.ts';
import { freshSchema, runSql, sharedPostgres } from '../../../test/support/postgres.ts';

let url: (schema: string) => string;
beforeAll(async () => {
  url = await sharedPostgres();
});

/** Other columns are caches, times of leases, or data that is checked where it is used. */
const FREE: ReadonlySet<string> = new Set([
  ...[
    'store_version.version',
    'store_version.reads',
    'store_version.writes',
    'store_version.one',
    'store.one',
    'store.base',
  ],
  ...[
    'workers.id',
    'workers.worker',
    'workers.until',
    'workers.term',
    'workers.fenced',
    'workers.process',
    'runs.owner',
  ],
  // A snapshot with another hash than the chain is not used, and its state is compared with the chain when the run is loaded.
  ...['snapshots.run', 'snapshots.seq', 'snapshots.hash', 'snapshots.body'],
  // The order of the feed, and of blobs.
  ...['log.place', 'blobs.number'],
  // Verified with the journal of the run: see the engine's own tests of tampering.
  ...['log.after', 'log.count', 'log.at', 'log.body', 'log.hash', 'log.run', 'blobs.run', 'blobs.hash', 'blobs.body'],
  ...[
    'flows.text',
    'flows.id',
    'checkpoints.seq',
    'checkpoints.head',
    'checkpoints.at',
    'checkpoints.key',
    'checkpoints.signature',
  ],
  // Not part of the link of an act or a tombstone: its place in the table.
  ...['acts.number', 'tombstones.number'],
  ...['tenant_roles.role', 'tenant_roles.tenant'],
]);
const SEALED = ['pii_tokens', 'pii_numbers', 'attachments', 'attachment_uses', 'memory'];

async function filled(schema: string): Promise<PostgresStore> {
  const store = openPostgres(url(schema));
  await store.leases.renew('w1', 60_000);
  const facts = {
    seq: 1,
    steps: 1,
    inputTokens: 1,
    outputTokens: 1,
    costUsd: 1,
    questions: 1,
    node: 'a',
    error: { type: 'E', message: 'm' },
  };
  const questions = [{ id: 'a_1', node: 'a', askedAt: 1, expiresAt: 2 }];
  const [one, two, gone] = [new Chain('r1'), new Chain('r2'), new Chain('r3')];
  const start = { tenant: 't', user: 'u', thread: 'th', parent: 'p' };
  await store.journal.commit('w1', [
    { ...one.first(undefined, start), details: { facts, questions } },
    one.next({ blobs: [{ hash: 'b', body: 'x' }], checkpoint: { seq: 2, head: 'h', at: 1, key: 'k', signature: 's' } }),
    two.first(suspended(9_000_000_000_000), { tenant: 't' }),
    gone.first(ENDED, { tenant: 't' }),
  ]);
  await store.journal.commit('w1', [one.next()]);
  await store.index.remove(['r3'], new Map([['r3', '/tmp/r3.json']]));
  await store.mail.post('r2', { type: 'cancel', by: 'ann', why: '' });
  await store.shared.swap('key', '', 1);
  await store.shared.swap('other', '', 1, { at: 1, by: 'ann', what: 'what', why: 'why' });
  return store;
}

async function columnsOf(
  schema: string,
): Promise<readonly { readonly table: string; readonly column: string; readonly type: string }[]> {
  return runSql(
    url('public'),
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns WHERE table_schema = $1
     ORDER BY table_name, ordinal_position`,
    [schema],
  );
}

const OTHER: { readonly [type: string]: string } = {
  bigint: '+ 1000003',
  integer: '+ 1000003',
  text: "|| 'x'",
  boolean: 'IS NOT TRUE',
};

test('a change of any column is found', async () => {
  const schema = freshSchema();
  const store = await filled(schema);
  expect(await store.journal.broken?.()).toBeNull();
  const notFound: string[] = [];
  for (const { table, column, type } of await columnsOf(schema)) {
    const name = `${table}.${column}`;
    if (FREE.has(name) || SEALED.includes(table)) continue;
    const status = column === 'status' ? "CASE status WHEN 'running' THEN 'pending' ELSE 'failed' END" : undefined;
    const value = status ?? `${column === 'user' ? '"user"' : column} ${OTHER[type] ?? "|| 'x'"}`;
    const quoted = column === 'user' ? '"user"' : column;
    const undo = await change(
      schema,
      `UPDATE ${schema}.${table} SET ${quoted} = ${value} WHERE ${quoted} IS NOT NULL`,
      table,
    );
    const found = (await store.journal.broken?.()) ?? (await brokenAny(store));
    if (found === null) notFound.push(name);
    await undo();
    expect(await store.journal.broken?.(), `after ${name} was put back`).toBeNull();
  }
  expect(notFound).toEqual([]);
  await store.close();
});

test.each([
  'heads',
  'ends',
  'runs',
  'run_facts',
  'questions',
  'tombstones',
  'mail',
  'shared',
  'acts',
  'checkpoints',
  'log',
])('a row that is deleted from %s is found', async (table) => {
  const schema = freshSchema();
  const store = await filled(schema);
  const first = `ctid = (SELECT ctid FROM ${schema}.${table} ORDER BY ctid DESC LIMIT 1)`;
  await change(schema, `DELETE FROM ${schema}.${table} WHERE ${first}`, table);
  expect(await store.journal.broken?.()).not.toBeNull();
  await store.close();
});

test('a change of an event is found by the chain of its run, and a value that goes back to an older one by the heads', async () => {
  const schema = freshSchema();
  const store = await filled(schema);
  const [before] = await runSql<{ value: string; hash: string; changes: string }>(
    url('public'),
    `SELECT * FROM ${schema}.shared WHERE key = 'key'`,
  );
  const { version } = await store.shared.get('key');
  await store.shared.swap('key', version, 2);
  await runSql(url('public'), `UPDATE ${schema}.shared SET value = $1, hash = $2 WHERE key = 'key'`, [
    before?.value,
    before?.hash,
  ]);
  expect(await store.journal.broken?.()).toMatch(/a shared value/);
  await change(schema, `UPDATE ${schema}.log SET body = '[]' WHERE after = 0`, 'log');
  expect((await audit(store.journal, 'r1').catch((error: Error) => ({ ok: false, error }))).ok).toBe(false);
  await store.close();
});

test('a function or a trigger that was replaced is found', async () => {
  const schema = freshSchema();
  const store = await filled(schema);
  await runSql(url('public'), `ALTER TABLE ${schema}.log DISABLE TRIGGER log_update`);
  expect(await store.journal.broken?.()).toMatch(/triggers/);
  await runSql(url('public'), `ALTER TABLE ${schema}.log ENABLE TRIGGER log_update`);
  await runSql(
    url('public'),
    `CREATE OR REPLACE FUNCTION ${schema}.digest(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT given $$`,
  );
  expect(await store.journal.broken?.()).not.toBeNull();
  await store.close();
});

test('events cannot be changed or removed by a mistake with SQL', async () => {
  const schema = freshSchema();
  const store = await filled(schema);
  for (const table of ['log', 'heads', 'blobs', 'acts', 'tombstones', 'checkpoints'])
    for (const sql of [`DELETE FROM ${schema}.${table}`, `TRUNCATE ${schema}.${table}`])
      await expect(runSql(url('public'), sql), sql).rejects.toThrow();
  await expect(runSql(url('public'), `UPDATE ${schema}.log SET body = ''`)).rejects.toThrow(/append-only/);
  await store.close();
});

test('compaction keeps what the chains say, and changes after it are found', async () => {
  const schema = freshSchema();
  const store = await filled(schema);
  await store.compact?.();
  expect(await runSql(url('public'), `SELECT count(*)::int AS n FROM ${schema}.heads`)).toEqual([{ n: 1 }]);
  expect(await store.journal.broken?.()).toBeNull();
  await store.shared.swap('third', '', 1);
  expect(await store.journal.broken?.()).toBeNull();
  expect(await store.journal.broken?.('r1')).toBeNull();
  await change(schema, `UPDATE ${schema}.runs SET flow = 'other'`, 'runs');
  expect(await store.journal.broken?.('r1')).toMatch(/list of runs/);
  await store.close();
});

async function brokenAny(store: PostgresStore): Promise<string | null> {
  for (const run of ['r1', 'r2', 'r3']) {
    const found = await store.journal.broken?.(run);
    if (found !== null && found !== undefined) return found;
  }
  return null;
}

/** With all triggers off. The returned function puts the table back. */
async function change(schema: string, sql: string, table: string): Promise<() => Promise<unknown>> {
  const kept = `${schema}_kept_${table}`;
  const off = `SET session_replication_role = replica;`;
  await runSql(
    url('public'),
    `${off} DROP TABLE IF EXISTS public.${kept}; CREATE TABLE public.${kept} AS TABLE ${schema}.${table}; ${sql}`,
  );
  return () =>
    runSql(
      url('public'),
      `${off} DELETE FROM ${schema}.${table}; INSERT INTO ${schema}.${table} OVERRIDING SYSTEM VALUE TABLE public.${kept}; DROP TABLE public.${kept}`,
    );
}
