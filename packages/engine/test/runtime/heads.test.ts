/** What a hash chain alone does not show: rows that were deleted or added, and lists that were edited. No run acts on them. */
import { hash } from 'node:crypto';
import { userInfo } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';
import { audit, compareHeads, headsOf } from '@sluice-internal/engine/audit';
import { readRun } from '@sluice-internal/engine/journal';
import { NO_CODEC } from '@sluice-internal/engine/ports';
import { hashHead } from '../../../store-sqlite/src/heads-row.ts';
import { hashListing, readRow, SELECT_LISTED } from '../../../store-sqlite/src/listing.ts';
import type { ListedRow } from '../../../store-sqlite/src/listing.ts';
import { openPayments, PAYMENTS as flow } from '../../../../test/chaos/payments.ts';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';
import { change, findings } from './changed-rows.ts';
import { operate } from '@sluice-internal/engine/ports';

const freshPath = freshPaths();
const { flow: steps } = compile({ steps: [{ name: 'one', agent_name: 'worker' }] });

interface Scene {
  readonly path: string;
  readonly engine: Engine;
  readonly paid: unknown[];
  readonly approval: string;
}

/** A database with two removed runs, one that has ended, and `r`, which waits or has paid. The engine is open. */
async function scene({ ended = false } = {}): Promise<Scene> {
  const path = freshPath();
  const first = openPayments(path, []);
  for (const run of ['s1', 's2', 's3']) {
    await first.start(steps as CompiledFlow, { run });
    await first.settled(run);
  }
  await first.start(flow, { run: 'r' });
  const { waiting } = await first.settled('r');
  const approval = waiting[0]?.id ?? '';
  rememberEnd(path);
  if (ended) {
    await first.answer(approval, { choice: 'approve', by: 'bob' });
    await first.settled('r');
  }
  await first.close();
  const store = openSqlite(path);
  for (const why of ['first', 'second'])
    await operate(store.shared, { at: 1, by: 'ann', what: 'open', key: 'breaker:a@m', why }, () => ({
      status: 'open',
    }));
  await store.close();
  const paid: unknown[] = [];
  const engine = openPayments(path, paid);
  onTestFinished(() => engine.close());
  return { path, engine, paid, approval };
}

/** Where the run asks, for the statements that cut it there. */
function rememberEnd(path: string): void {
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE asked AS SELECT max(after + count) AS seq FROM log WHERE run = (SELECT max(id) FROM runs)');
  db.close();
}

const ROW = "(SELECT id FROM runs WHERE run = 'r')";
/** The answer and everything that followed. */
const CUT = `DELETE FROM log WHERE run = ${ROW} AND after >= (SELECT seq FROM asked)`;
const AS_SUSPENDED = `UPDATE runs SET status = 'suspended', code = 'CONFIRM_REQUIRED', due = NULL, updated_at =
  (SELECT at FROM log WHERE run = ${ROW} ORDER BY after DESC LIMIT 1) WHERE run = 'r'`;
const HEAD = `UPDATE ends SET events = (SELECT after + count FROM log WHERE run = ${ROW} ORDER BY after DESC LIMIT 1),
  head = (SELECT hash FROM log WHERE run = ${ROW} ORDER BY after DESC LIMIT 1) WHERE run = ${ROW}`;
const UNSIGN = `DELETE FROM checkpoints WHERE run = ${ROW}; UPDATE ends SET signed = 0 WHERE run = ${ROW}`;
/** The last row of the chains that names the run when it asks. */
const ASKED = `(SELECT id FROM heads WHERE body LIKE '%"r",' || (SELECT seq FROM asked) || ',%')`;
/** The end of the run as that row has it. */
const ENTRY = `(SELECT value FROM json_each((SELECT body FROM heads WHERE id = ${ASKED}), '$.runs') WHERE value ->> 1 = 'r')`;
const SET_BACK = `UPDATE ends SET at = ${ASKED}, events = ${ENTRY} ->> 2, head = ${ENTRY} ->> 3, signed = ${ENTRY} ->> 4,
  listing = ${ENTRY} ->> 5 WHERE run = ${ROW}`;

test('an untouched database holds, and the run goes on', async () => {
  const { path, engine, paid, approval } = await scene();
  expect(await findings(path)).toEqual([]);
  await engine.answer(approval, { choice: 'approve', by: 'bob' });
  expect((await engine.settled('r')).code).toBe('SUCCESS');
  expect(paid).toHaveLength(1);
  expect(await findings(path)).toEqual([]);
});

describe('the last events are deleted after the payment', () => {
  test.each([
    ['alone', [CUT]],
    ['with the status', [CUT, AS_SUSPENDED]],
    ['with the status and the head', [CUT, AS_SUSPENDED, HEAD]],
    ['with the checkpoints', [CUT, AS_SUSPENDED, HEAD, UNSIGN]],
    ['with the chains', [CUT, AS_SUSPENDED, HEAD, UNSIGN, 'DELETE FROM heads']],
    ['with their entries', [CUT, AS_SUSPENDED, HEAD, UNSIGN, `DELETE FROM heads WHERE id > ${ASKED}`]],
  ])('%s: nothing is paid again', async (_, statements) => {
    const { path, engine, paid, approval } = await scene({ ended: true });
    change(path, ...statements);
    const broken = { code: 'chain-broken', help: expect.stringContaining('audit verify') };
    await expect(engine.answer(approval, { choice: 'approve', by: 'bob' })).rejects.toMatchObject(broken);
    await expect(engine.resume('r')).rejects.toMatchObject(broken);
    await expect(engine.cancel('r', 'bob')).rejects.toMatchObject(broken);
    await expect(engine.signal('r', 'go')).rejects.toMatchObject(broken);
    await expect(engine.get('r')).rejects.toMatchObject(broken);
    await expect(engine.fork('r', { at: 5, by: 'bob' })).rejects.toMatchObject(broken);
    await expect(engine.start(flow, { run: 'r' })).rejects.toMatchObject(broken);
    expect(paid).toEqual([]);
    expect(await findings(path)).not.toEqual([]);
  });

  test('with the whole end set back to an earlier entry: the audit finds it', async () => {
    const { path } = await scene({ ended: true });
    change(path, CUT, AS_SUSPENDED, `DELETE FROM checkpoints WHERE run = ${ROW} AND seq > (SELECT seq FROM asked)`);
    change(path, "UPDATE runs SET details = '' WHERE run = 'r'", SET_BACK);
    expect(await findings(path)).toEqual(expect.arrayContaining([expect.stringContaining('`r`')]));
  });

  test('with every value computed again: only what was kept elsewhere shows it', async () => {
    const { path } = await scene({ ended: true });
    const before = openSqlite(path);
    const heads = await headsOf(before, 0);
    await before.close();
    change(path, CUT, AS_SUSPENDED, HEAD, UNSIGN, 'DELETE FROM heads');
    const db = new DatabaseSync(path);
    rewriteChains(db);
    db.close();
    expect(await findings(path)).toEqual([]);
    const store = openSqlite(path);
    expect(await compareHeads(store, heads)).toEqual([expect.stringMatching(/run `r` has \d+ events; the heads have/)]);
    await store.close();
  });
});

test.each([
  ['a completed status', "UPDATE runs SET status = 'completed', code = NULL WHERE run = 'r'"],
  ['the flow', "UPDATE runs SET flow = 'other' WHERE run = 'r'"],
  ['the start', "UPDATE runs SET started_at = started_at - 1 WHERE run = 'r'"],
  ['the last change', "UPDATE runs SET updated_at = updated_at + 1 WHERE run = 'r'"],
  ['the tenant', "UPDATE runs SET tenant = 'acme' WHERE run = 'r'"],
  ['the user', "UPDATE runs SET user = 'eve' WHERE run = 'r'"],
  ['a forged act', "INSERT INTO acts (at, who, what, key, why, link) VALUES (1, 'eve', 'reset', 'k', '', 'x')"],
  ['a deleted act', 'DELETE FROM acts WHERE number = 2'],
  ['a deleted shared value', 'DELETE FROM shared'],
  ['the facts that lists show', `UPDATE run_facts SET steps = 0 WHERE run = ${ROW}`],
  ['the questions that lists show', 'DELETE FROM questions'],
  ['its last entry in the chains', `UPDATE heads SET body = replace(body, '"r"', '"q"')`],
  ['the hash of its last entry', "UPDATE heads SET hash = 'x'"],
  ['the chains, which are deleted', 'DELETE FROM heads'],
  ['its place in the chains', `UPDATE ends SET at = at - 1 WHERE run = ${ROW}`],
])('an answer is refused at once after a change of %s', async (_, sql) => {
  const { path, engine, paid, approval } = await scene();
  change(path, sql);
  await expect(engine.answer(approval, { choice: 'approve', by: 'bob' })).rejects.toMatchObject({
    code: 'chain-broken',
  });
  expect(paid).toEqual([]);
});

test.each([
  ['a tombstone', ["DELETE FROM tombstones WHERE run = 's1'"], 's1'],
  ['a tombstone and the end of their chain', ["DELETE FROM tombstones WHERE run = 's2'", LAST_TOMBSTONE()], 's2'],
  ['all tombstones', ['DELETE FROM tombstones', "UPDATE store SET tombstones = ''"], 's1'],
  ['a whole run', ['log', 'snapshots', 'checkpoints'].map(deleteOf).concat(`DELETE FROM runs WHERE run = 'r'`), 'r'],
])('the id of a run cannot start again after the deletion of %s', async (_, statements, run) => {
  const { path, engine, paid } = await scene({ ended: true });
  change(path, ...statements);
  const again = run === 'r' ? flow : (steps as CompiledFlow);
  await expect(engine.start(again, { run })).rejects.toMatchObject({ code: 'chain-broken' });
  expect(paid).toEqual([]);
  expect(await findings(path)).not.toEqual([]);
});

function deleteOf(table: string): string {
  return `DELETE FROM ${table} WHERE run = ${ROW}`;
}

function LAST_TOMBSTONE(): string {
  return 'UPDATE store SET tombstones = (SELECT link FROM tombstones ORDER BY number DESC LIMIT 1)';
}

test('a run that is added, or that takes the rows of another, is found', async () => {
  const { path } = await scene({ ended: true });
  const s3 = "(SELECT id FROM runs WHERE run = 's3')";
  change(path, `UPDATE log SET run = -1 WHERE run = ${s3}`, `UPDATE log SET run = ${s3} WHERE run = ${ROW}`);
  expect((await findings(path)).length).toBeGreaterThan(1);
});

test('an owner that does not exist does not hold up an answer', async () => {
  const { path, engine, paid, approval } = await scene();
  change(path, "UPDATE runs SET owner = 99 WHERE run = 'r'");
  await engine.answer(approval, { choice: 'approve', by: 'bob' });
  await engine.settled('r');
  expect(paid).toHaveLength(1);
});

test('retention does not remove a run that was changed', async () => {
  const { path } = await scene({ ended: true });
  change(path, "UPDATE runs SET flow = 'other' WHERE run = 'r'");
  const store = openSqlite(path);
  expect(await store.index.remove(['r', 's3'])).toEqual(['s3']);
  expect((await audit(store.journal, 'r')).ok).toBe(false);
  await store.close();
});

test('a row that is changed under a live process is not extended, and the run stops with a typed error', async () => {
  const path = freshPath();
  const called = Promise.withResolvers<{ number: number; payee: string }>();
  const faults: string[] = [];
  const engine = createEngine({
    journal: path,
    onFault: (error) => faults.push((error as Error & { code: string }).code),
    tools: { 'read.page': () => called.promise, 'pay.out': () => 'paid' },
  });
  onTestFinished(() => engine.close());
  await engine.start(flow, { run: 'r' });
  change(path, "UPDATE runs SET tenant = 'acme' WHERE run = 'r'");
  const waits = engine.settled('r');
  called.resolve({ number: 20, payee: 'ann' });
  await expect(waits).rejects.toMatchObject({ code: 'chain-broken' });
  expect(faults).toEqual(['chain-broken']);
  const db = new DatabaseSync(path);
  expect(db.prepare('SELECT tenant FROM runs').get()).toEqual({ tenant: 'acme' });
  db.close();
});

test('with a signing key, a run whose last checkpoint was signed with another key is not continued', async () => {
  const { path, approval } = await scene();
  const { generateKeyPairSync } = await import('node:crypto');
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const store = openSqlite(path);
  const signed = await store.journal.checkpoints?.('r');
  await store.close();
  const engine = createEngine({ journal: path, pickUp: false, signingKey: key, tools: { 'pay.out': () => 'paid' } });
  onTestFinished(() => engine.close());
  const answered = engine.answer(approval, { choice: 'approve', by: 'bob' });
  // The run is longer than the distance between two checkpoints.
  expect(signed?.length).toBeGreaterThan(0);
  await expect(answered).rejects.toMatchObject({
    code: 'chain-broken',
    message: expect.stringContaining('another key'),
  });
});

describe('messages with a hash that the attacker computed', () => {
  interface Live {
    readonly path: string;
    readonly notices: string[];
    readonly engine: Engine;
    readonly post: (fact: object) => void;
    readonly go: () => void;
  }

  /** A run whose question is open while another branch works, so that answers come by mail. */
  async function live(people?: object): Promise<Live> {
    const path = freshPath();
    const notices: string[] = [];
    const slow = Promise.withResolvers<string>();
    const { flow: both, diagnostics } = compile({
      tools: { 'slow.read': { effect: 'read' }, 'pay.out': { effect: 'financial' } },
      ...(people === undefined ? {} : { people }),
      flow: {
        id: 'both',
        entry: 'fork',
        nodes: [
          { id: 'fork', type: 'parallel', branches: [{ to: 'slow' }, { to: 'ask' }] },
          { id: 'slow', type: 'tool', tool: 'slow.read' },
          {
            id: 'ask',
            type: 'approval',
            message: 'Pay?',
            choices: ['approve', 'reject'],
            ...(people === undefined ? {} : { approvers: { roles: ['manager'] } }),
          },
        ],
      },
    });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    const engine = createEngine({
      journal: path,
      onNotice: (message) => notices.push(message),
      tools: { 'slow.read': () => slow.promise, 'pay.out': () => 'paid' },
    });
    onTestFinished(() => engine.close());
    await engine.start(both as CompiledFlow, { run: 'r' });
    await expect.poll(async () => (await engine.approvals('r')).length).toBe(1);
    const post = (fact: object): void => {
      const db = new DatabaseSync(path);
      const { id: store } = db.prepare('SELECT id FROM store').get() as { id: string };
      const text = JSON.stringify(fact);
      db.prepare('INSERT INTO mail (run, fact, hash) VALUES (1, ?, ?)').run(
        text,
        hash('sha256', [store, 'r', text].join('\n'), 'base64url'),
      );
      db.close();
    };
    return { path, notices, engine, post, go: () => slow.resolve('done') };
  }

  test('an answer is refused, deleted and announced', async () => {
    const { path, notices, engine, post } = await live();
    const [question] = await engine.approvals('r');
    post({ type: 'answer', id: question?.id, answer: { choice: 'approve', by: 'bob' } });
    await expect.poll(() => notices).toEqual([expect.stringMatching(/message to run `r` was refused/)]);
    const store = openSqlite(path);
    const { events } = await readRun(store.journal, 'r');
    expect(JSON.stringify(events)).not.toContain('bob');
    expect(await store.journal.broken?.()).toBeNull();
    // Honest messages still arrive.
    await store.mail.post('r', { type: 'answer', id: question?.id ?? '', answer: { choice: 'reject', by: 'ann' } });
    await store.close();
    await expect.poll(async () => (await engine.approvals('r')).length).toBe(0);
  });

  test('a note that is another event is refused, even in a row that adds up', async () => {
    const { path, notices, engine } = await live();
    const [question] = await engine.approvals('r');
    const store = openSqlite(path);
    onTestFinished(() => store.close());
    const result = { ok: true, value: { choice: 'approve', by: 'bob' } };
    const asked = (await readRun(store.journal, 'r')).events.find((event) => 'question' in event);
    const note = { type: 'effect.settled', key: (asked as unknown as { key: string }).key, attempt: 1, result };
    await store.mail.post('r', { type: 'note', note: note as never });
    await expect.poll(() => notices.length).toBe(1);
    expect((await engine.approvals('r')).map(({ id }) => id)).toEqual([question?.id]);
  });

  test('a claim to be another user of the machine proves nothing, even in a row that adds up', async () => {
    const people = [
      { id: 'anna', roles: ['manager'], os_user: 'someone-else' },
      { id: 'me', roles: ['manager'], os_user: userInfo().username },
    ];
    const { path, engine } = await live(people);
    const [question] = await engine.approvals('r');
    const store = openSqlite(path);
    const answer = (by: string): Promise<void> =>
      store.mail.post('r', {
        type: 'answer',
        id: question?.id ?? '',
        answer: { choice: 'approve', by, proof: { via: 'os_user' } },
      });
    await answer('anna');
    const types = async (): Promise<string[]> => (await readRun(store.journal, 'r')).events.map(({ type }) => type);
    await expect.poll(types).toContain('answer.refused');
    expect((await engine.approvals('r')).length).toBe(1);
    await answer('me');
    await expect.poll(async () => (await engine.approvals('r')).length).toBe(0);
    await store.close();
  });
});

/** Computes one chain for all rows, as an attacker who has this source can. */
function rewriteChains(db: DatabaseSync): void {
  const { id: store } = db.prepare('SELECT id FROM store').get() as { id: string };
  const rows = db.prepare(SELECT_LISTED);
  rows.setReturnArrays(true);
  const runs = (rows.all() as unknown as ListedRow[]).map((row) => {
    const { id, listing, shown, end } = readRow(row, NO_CODEC, store);
    db.prepare('UPDATE runs SET details = ? WHERE id = ?').run(shown, id);
    const hashed = hashListing(store, { ...listing, details: shown });
    db.prepare('UPDATE ends SET listing = ? WHERE run = ?').run(hashed, id);
    return [id, listing.run, end?.events, end?.head, end?.signed, hashed];
  });
  db.exec('UPDATE ends SET at = 1');
  const removed = db.prepare('SELECT id, run, link FROM tombstones ORDER BY number').all();
  const ends = db.prepare('SELECT run, name, events, head, signed, listing FROM ends');
  ends.setReturnArrays(true);
  const gone = removed.map(({ id, link }) => [id, link]);
  const all = (ends.all() as unknown as [number][]).map((end) => runs.find(([id]) => id === end[0]) ?? end);
  const acts = db
    .prepare('SELECT link FROM acts ORDER BY number')
    .all()
    .map(({ link }) => link);
  const shared = db
    .prepare('SELECT key, hash FROM shared')
    .all()
    .map(({ key, hash: hashed }) => [key, hashed]);
  const body = JSON.stringify({ prev: '', runs: all, acts, gone, shared });
  const head = hashHead(store, 1, 1, body);
  db.prepare('INSERT INTO heads VALUES (1, 1, ?, ?)').run(body, head);
}
