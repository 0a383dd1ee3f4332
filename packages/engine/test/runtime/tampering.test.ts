/** A run is continued only if every stored byte is what the engine wrote. */
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';
import { audit } from '@sluice-internal/engine/audit';
import { auditTombstones } from '@sluice-internal/engine/journal';
import { openPayments, PAYMENTS as flow } from '../../../../test/chaos/payments.ts';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';

const freshPath = freshPaths();
interface Scene {
  readonly path: string;
  readonly engine: Engine;
  readonly paid: unknown[];
  readonly approval: string;
}

/** A run with a snapshot that waits for an approval; the engine is open. */
async function suspendedRun(path = freshPath()): Promise<Scene> {
  const first = open(path, []);
  await first.start(flow, { run: 'r' });
  const { waiting } = await first.settled('r');
  await first.close();
  const paid: unknown[] = [];
  const engine = open(path, paid);
  onTestFinished(() => engine.close());
  return { path, engine, paid, approval: waiting[0]?.id ?? '' };
}

function open(path: string, paid: unknown[]): Engine {
  const payments: [unknown, string][] = [];
  payments.push = (...made) => paid.push(...made.map(([args]) => args));
  return openPayments(path, payments);
}

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.exec(`DROP TRIGGER ${String(name)}`);
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}

test('an untouched run continues from its snapshot', async () => {
  const { path, engine, paid, approval } = await suspendedRun();
  const store = openSqlite(path);
  expect((await store.journal.load('r'))?.snapshot).not.toBeNull();
  await store.close();
  await engine.answer(approval, { choice: 'approve', by: 'bob' });
  expect((await engine.settled('r')).code).toBe('SUCCESS');
  expect(paid).toEqual([{ to: 'ann' }]);
});

const CHANGES = [
  ['an event', "UPDATE log SET body = replace(body, 'ann', 'eve') WHERE body LIKE '%ann%'"],
  ['the last event', "UPDATE log SET body = replace(body, 'ask', 'asq') WHERE id = (SELECT max(id) FROM log)"],
  ['the time of an event', 'UPDATE log SET at = at + 1 WHERE id = 3'],
  ['the hash of an event', "UPDATE log SET hash = 'x' WHERE id = 3"],
  ['the number of events', 'UPDATE log SET count = count + 1 WHERE id = (SELECT max(id) FROM log)'],
  ['an event that is gone', 'DELETE FROM log WHERE id = 2'],
  ['the snapshot', "UPDATE snapshots SET body = replace(body, 'ann', 'eve')"],
  ['the graph', "UPDATE flows SET text = replace(text, 'pay.out', 'pay.oux')"],
  ['the id of the run', "UPDATE runs SET run = 'q'"],
] as const;

test.each(CHANGES)('a run is not continued, and pays no one, after a change of %s', async (what, sql) => {
  const { path, engine, paid, approval } = await suspendedRun();
  change(path, sql);
  const renamed = what === 'the id of the run';
  const id = renamed ? approval.replace('a_r.', 'a_q.') : approval;
  await expect(engine.answer(id, { choice: 'approve', by: 'bob' })).rejects.toMatchObject({ code: 'chain-broken' });
  await expect(engine.resume(renamed ? 'q' : 'r')).rejects.toMatchObject({ code: 'chain-broken' });
  expect(paid).toEqual([]);
  const store = openSqlite(path);
  expect((await audit(store.journal, renamed ? 'q' : 'r')).ok).toBe(false);
  await store.close();
});

test.each(CHANGES)('nor is one that was read before a change of %s', async (what, sql) => {
  const { path, engine, paid, approval } = await suspendedRun();
  const opened = await engine.open('r');
  change(path, sql);
  const code = what === 'the id of the run' ? /^(chain-broken|run-not-found|approval-not-found)$/ : /^chain-broken$/;
  const refusal = { code: expect.stringMatching(code) };
  await expect(opened.answer('ask', 'approve', { by: 'bob' })).rejects.toMatchObject(refusal);
  await expect(engine.answer(approval, { choice: 'approve', by: 'bob' })).rejects.toMatchObject(refusal);
  await expect(opened.resume()).rejects.toMatchObject(refusal);
  expect(paid).toEqual([]);
});

test('a snapshot that no event covers is not used', async () => {
  const { path, engine, paid, approval } = await suspendedRun();
  const db = new DatabaseSync(path);
  const last = db.prepare('SELECT after + count AS seq, hash FROM log ORDER BY id DESC LIMIT 1').get();
  db.prepare("UPDATE snapshots SET seq = ?, hash = ?, body = replace(body, 'ann', 'eve')").run(
    last?.['seq'] ?? 0,
    last?.['hash'] ?? '',
  );
  db.close();
  await engine.answer(approval, { choice: 'approve', by: 'bob' });
  await engine.settled('r');
  expect(paid).toEqual([{ to: 'ann' }]);
});

test.each([
  ['the tenant', "UPDATE runs SET tenant = 'acme'", /tenant/],
  ['the user', "UPDATE runs SET user = 'eve'", /user/],
  ['the parent', "UPDATE runs SET parent = 'other'", /parent/],
  ['the flow', "UPDATE runs SET flow = 'other'", /flow of the run is listed as `other`/],
  ['the notation', "UPDATE runs SET notation = 'other'", /notation/],
  ['the start', 'UPDATE runs SET started_at = started_at - 1', /start of the run/],
  ['the last change', 'UPDATE runs SET updated_at = updated_at + 1', /last change/],
  ['the deadline', 'UPDATE runs SET due = 1', /deadline/],
  ['the status', "UPDATE runs SET status = 'running'", /status/],
  ['the code', "UPDATE runs SET code = 'SUCCESS'", /code/],
])('the audit finds a changed listing: %s', async (_, sql, words) => {
  const { path } = await suspendedRun();
  change(path, sql);
  const store = openSqlite(path);
  const { ok, broken } = await audit(store.journal, 'r', await store.index.find('r'));
  await store.close();
  expect([ok, broken?.message]).toEqual([false, expect.stringMatching(words)]);
});

test.each([
  ['INSERT INTO mail (run, fact, hash) VALUES (1, \'{"type":"settle","key":"0#0","attempt":1}\', \'x\')'],
  ["INSERT INTO mail (run, fact, hash) VALUES (1, 'not JSON', 'x')"],
  ["UPDATE mail SET fact = replace(fact, 'reject', 'approve')"],
])('a forged row of mail is refused, deleted and announced: %s', async (sql) => {
  const path = freshPath();
  const notices: string[] = [];
  const called = Promise.withResolvers<string>();
  const engine = createEngine({
    journal: path,
    onNotice: (message) => notices.push(message),
    tools: { 'read.page': () => called.promise, 'pay.out': () => 'paid' },
  });
  onTestFinished(() => engine.close());
  await engine.start(flow, { run: 'r' });
  const store = openSqlite(path);
  onTestFinished(() => store.close());
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  // A row that an honest process posted, for the statement that changes it; both happen before the owner looks.
  db.exec('BEGIN IMMEDIATE');
  if (sql.startsWith('UPDATE')) {
    db.exec('COMMIT');
    await store.mail.post('r', { type: 'answer', id: 'a_r.1', answer: { choice: 'reject', by: 'bob' } });
    db.exec('BEGIN IMMEDIATE');
  }
  db.exec(sql);
  db.exec('COMMIT');
  await expect.poll(() => notices.length).toBe(1);
  expect(notices[0]).toMatch(/message to run `r` was refused/);
  expect(db.prepare('SELECT count(*) AS n FROM mail').get()).toMatchObject({ n: 0 });
});

test.each([
  ["UPDATE tombstones SET hash = 'x' WHERE run = 'r1'"],
  ['UPDATE tombstones SET at = at + 1'],
  ["DELETE FROM tombstones WHERE run = 'r1'"],
  ["DELETE FROM tombstones WHERE run = 'r2'"],
])('removed runs are counted, and a changed tombstone is found: %s', async (sql) => {
  const path = freshPath();
  const notices: string[] = [];
  const engine = createEngine({
    journal: path,
    model: () => 'x',
    retain: { workflow: 1 },
    onNotice: (text) => notices.push(text),
  });
  const { flow: steps } = compile({ steps: [{ name: 'one', agent_name: 'worker' }] });
  for (const run of ['r1', 'r2', 'r3']) {
    await engine.start(steps as CompiledFlow, { run });
    await engine.settled(run);
  }
  await expect(engine.start(steps as CompiledFlow, { run: 'r1' })).rejects.toMatchObject({
    code: 'run-removed',
    message: expect.stringContaining('removed'),
  });
  await engine.close();
  expect(notices).toHaveLength(2);
  const store = openSqlite(path);
  onTestFinished(() => store.close());
  expect(await auditTombstones(store.index)).toEqual({ ok: true, removed: 2, broken: null });
  change(path, sql);
  expect(await auditTombstones(store.index)).toMatchObject({ ok: false });
});

test('the same run in another database has other idempotency keys', async () => {
  const keys = new Set<string>();
  for (const journal of [freshPath(), freshPath()]) {
    const engine = createEngine({
      journal,
      tools: {
        'read.page': (_, { idempotencyKey }) => {
          keys.add(idempotencyKey);
          return { number: 20, payee: 'ann' };
        },
        'pay.out': () => 'paid',
      },
    });
    await engine.start(flow, { run: 'r', seed: 1 });
    await engine.settled('r');
    await engine.close();
  }
  expect(keys.size).toBe(2);
});
