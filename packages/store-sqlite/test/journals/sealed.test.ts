/** A sealed store on SQLite keeps every promise of a store, and its files have nothing of what runs said. */
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { codecOf, journalKeys } from '@sluice-internal/engine/ports';
import type { Codec, Store } from '@sluice-internal/engine/ports';
import { auditRun, headsOf } from '@sluice-internal/engine/audit';
import { createEngine } from '@sluice-internal/library';
import { attachmentsBeside } from '../../src/attachment-store.ts';
import { openMemoryStore } from '../../src/memory-store.ts';
import { openSqlite } from '../../src/open.ts';
import type { SqliteOptions } from '../../src/open.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { journalSuite } from '../../../testing/src/journal-suite.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();
const keyText = (letter: string): string => Buffer.alloc(32, letter).toString('base64');
const codec = (...letters: readonly string[]): Codec => codecOf(journalKeys(letters.map(keyText).join(',')));
const paths = new WeakMap<Store, string>();
const open = (path: string, options: SqliteOptions): Store => {
  const store = openSqlite(path, { busyMs: 20, codec: codec('a'), ...options });
  paths.set(store, path);
  return store;
};
journalSuite({ test }, 'sealed sqlite', (given) => open(freshPath(), given), {
  again: (store, given) => open(paths.get(store) ?? '', given),
  cut: (store) => {
    const other = new DatabaseSync(paths.get(store) ?? '');
    other.exec('BEGIN EXCLUSIVE');
    return () => other.close();
  },
});

const MARK = 'Zebrafinkennest';
const BIG = `${MARK} `.repeat(500);
const FLOW = compiled({
  tools: { 'crm.get': { effect: 'read' } },
  agents: [{ id: 'bot', instructions: `Say ${MARK}.`, tools: ['crm.get'] }],
  flow: {
    id: 'f',
    entry: 'work',
    nodes: [
      { id: 'work', type: 'agent', agent: 'bot', routes: [{ to: 'ask' }] },
      { id: 'ask', type: 'approval', message: `${MARK}?`, choices: ['yes', 'no'], routes: [{ to: 'bad' }] },
      { id: 'bad', type: 'fail', message: `It failed: ${MARK}` },
    ],
  },
});
const SCRIPT = {
  agents: { bot: [{ text: '', tools: [{ name: 'crm.get', args: { q: MARK } }] }, `Found ${MARK}`] },
  tools: { 'crm.get': [{ result: BIG }] },
};

/** Two runs: one has failed, one waits and has a letter. */
async function filled(path: string, used: Codec | undefined): Promise<void> {
  const store = openSqlite(path, used === undefined ? {} : { codec: used });
  const engine = createEngine({ journal: store, script: SCRIPT, snapshotEvery: 3 });
  const run = await engine.run(FLOW, `The ${MARK}`, { id: 'r_failed' });
  await run.waiting();
  await run.answer('ask', 'yes', { by: 'ann', text: MARK });
  await run.result().catch(() => undefined);
  await (await engine.run(FLOW, `The ${MARK}`, { id: 'r_waits' })).waiting();
  await engine.close();
  const later = openSqlite(path, used === undefined ? {} : { codec: used });
  await later.mail.post('r_waits', { type: 'note', by: 'ann', text: MARK, agent: null } as never);
  await later.close();
}

/** A run with a snapshot, as the engine writes it for a long one. */
async function addSnapshot({ leases, journal }: Store): Promise<void> {
  await leases.renew('w_other', 60_000);
  const first = { flow: 'f', notation: 'flow', tenant: null, user: null, thread: null, parent: null, startedAt: 1 };
  const append = { run: 'r_long', after: 0, count: 1, at: 1, body: '[]', hash: 'h', blobs: [] };
  const entry = { status: 'completed', code: 'SUCCESS', due: null, first } as const;
  const snapshot = { seq: 1, hash: 'h', body: `"${MARK}"` };
  await journal.commit('w_other', [{ ...append, entry, flow: { hash: 'g', text: '{}' }, snapshot }]);
}

/** The files of a folder that have the text, also in UTF-16 or in base64. */
function foundIn(path: string, text = MARK): readonly string[] {
  const forms = [
    text,
    Buffer.from(text, 'utf16le').toString('latin1'),
    Buffer.from(text).toString('base64').slice(0, 16),
  ];
  const folder = dirname(path);
  return readdirSync(folder).filter((file) => {
    const data = statSync(join(folder, file)).isFile() ? readFileSync(join(folder, file), 'latin1') : '';
    return forms.some((form) => data.includes(form));
  });
}

const headsIn = async (path: string, used: Codec): Promise<object> => {
  const store = openSqlite(path, { readOnly: true, codec: used });
  const { runs } = await headsOf(store, 0);
  const wrong = await Promise.all(
    runs.map(async ({ run }) => (await auditRun(store.journal, run, await store.index.find(run))).audit.broken),
  );
  const broken = await store.journal.broken?.();
  await store.close();
  return { runs, wrong, broken };
};
const GOOD = { wrong: [null, null], broken: null };

test('nothing of what runs said is in the files; in clear it is', async () => {
  const [clear, sealed] = [freshPath(), freshPath()];
  await filled(clear, codec());
  expect(foundIn(clear)).toEqual(['sluice.db']);
  await filled(sealed, codec('a'));
  expect(foundIn(sealed)).toEqual([]);
  expect(await headsIn(sealed, codec('a'))).toMatchObject(GOOD);
});

test('a run is gone on with, and its error is read', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const store = openSqlite(path, { codec: codec('a') });
  const [failed] = (await store.index.list({ status: ['failed'] })).items;
  expect(failed?.facts?.error?.message).toBe(`It failed: ${MARK}`);
  const engine = createEngine({ journal: store, script: SCRIPT });
  const run = await engine.open('r_waits');
  await run.answer('ask', 'yes', { by: 'ann' });
  await engine.settled('r_waits');
  expect((await run.report()).error?.message).toContain(MARK);
  await engine.close();
  await store.close();
});

test('without the key, lists and heads are there, and what needs it says which one', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const { runs } = (await headsIn(path, codec('a'))) as { runs: object };
  const needs = {
    code: 'journal-key',
    message: expect.stringContaining(codec('a').key ?? ''),
    details: { key: codec('a').key },
  };
  for (const other of [codec(), codec('b')]) {
    const store = openSqlite(path, { readOnly: true, codec: other });
    expect((await headsOf(store, 0)).runs).toEqual(runs);
    expect((await store.index.list()).items.map(({ run }) => run)).toEqual(['r_waits', 'r_failed']);
    const [failed] = (await store.index.list({ status: ['failed'] })).items;
    expect(failed?.facts?.error?.message).toBe(`sealed with the key ${codec('a').key}`);
    await expect(store.journal.load('r_failed')).rejects.toMatchObject(needs);
    await expect(auditRun(store.journal, 'r_failed', null)).rejects.toMatchObject(needs);
    await store.close();
    expect(() => openSqlite(path, { codec: other })).toThrow(expect.objectContaining(needs));
  }
  // The refused process has written nothing.
  expect(await headsIn(path, codec('a'))).toMatchObject(GOOD);
});

test('a new key: all processes read both, `rekey` seals the rest, no hash changes, and the old key can go', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const before = await headsIn(path, codec('a'));
  const overlapping = openSqlite(path, { codec: codec('a', 'b') });
  const store = openSqlite(path, { codec: codec('b', 'a') });
  // The mail of the run that waits stays in the store.
  const engine = createEngine({ journal: store, script: SCRIPT, pickUp: false });
  await (await engine.run(FLOW, MARK, { id: 'r_new' })).waiting();
  expect((await overlapping.journal.load('r_new'))?.appends.length).toBeGreaterThan(0);
  await addSnapshot(overlapping);
  expect(await store.rekey?.()).toBeGreaterThan(10);
  expect(await store.rekey?.()).toBe(0);
  expect((await overlapping.journal.load('r_failed'))?.appends.length).toBeGreaterThan(0);
  await engine.close();
  await overlapping.close();
  await store.close();
  const again = openSqlite(path, { readOnly: true, codec: codec('b') });
  expect((await again.journal.load('r_long'))?.snapshot?.body).toBe(`"${MARK}"`);
  const { runs } = before as { readonly runs: readonly { readonly run: string; readonly head: string }[] };
  for (const { run, head } of runs)
    expect((await auditRun(again.journal, run, await again.index.find(run))).audit).toMatchObject({ ok: true, head });
  expect(await again.journal.broken?.()).toBeNull();
  await again.close();
  const db = new DatabaseSync(path);
  const columns = [
    ['log', 'body'],
    ['blobs', 'body'],
    ['flows', 'text'],
    ['snapshots', 'body'],
    ['mail', 'fact'],
    ['run_facts', 'message'],
  ] as const;
  for (const [table, column] of columns) {
    const of = `FROM ${table} WHERE ${column} IS NOT NULL`;
    const sealed = `substr(${column}, 1, 22) = 'sealed:${codec('b').key}:'`;
    const { all, own } = db
      .prepare(`SELECT count(*) AS all_, sum(${sealed}) AS own ${of}`.replace('all_', '"all"'))
      .get() as never;
    expect([table, own]).toEqual([table, all]);
    expect([table, Number(all) > 0]).toEqual([table, true]);
  }
  db.close();
});

test('a database in clear is sealed, and its files have nothing in clear any more', async () => {
  const path = freshPath();
  await filled(path, codec());
  const before = await headsIn(path, codec());
  const store = openSqlite(path, { codec: codec('a') });
  await store.rekey?.();
  await store.close();
  expect(foundIn(path)).toEqual([]);
  expect(await headsIn(path, codec('a'))).toEqual(before);
});

test('a sealed row that was changed, cut, exchanged or moved is found', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const flip = (text: string) => `${text.slice(0, 60)}${text[60] === 'A' ? 'B' : 'A'}${text.slice(61)}`;
  const edits: readonly ((db: DatabaseSync) => void)[] = [
    (db) => {
      const row = db.prepare('SELECT id, body FROM log ORDER BY id LIMIT 1').get() as { id: number; body: string };
      db.prepare('UPDATE log SET body = ? WHERE id = ?').run(flip(row.body), row.id);
    },
    (db) => db.exec('UPDATE log SET body = substr(body, 1, 40)'),
    (db) => db.exec('UPDATE log SET body = (SELECT body FROM log ORDER BY id DESC LIMIT 1)'),
    (db) => db.exec('UPDATE blobs SET body = (SELECT body FROM blobs ORDER BY id DESC LIMIT 1)'),
    (db) => db.exec('UPDATE blobs SET body = (SELECT body FROM log LIMIT 1)'),
    (db) => db.exec(`UPDATE flows SET text = 'sealed:${codec('a').key}:'`),
  ];
  for (const edit of edits) {
    const copy = freshPath();
    await openSqlite(copy, { codec: codec() }).close();
    copyFileSync(path, copy);
    const db = new DatabaseSync(copy);
    db.exec('DROP TRIGGER log_update; DROP TRIGGER blobs_update');
    edit(db);
    db.close();
    const store = openSqlite(copy, { readOnly: true, codec: codec('a') });
    const found = await Promise.all(
      ['r_failed', 'r_waits'].map(
        async (run) => (await auditRun(store.journal, run, await store.index.find(run))).audit.ok,
      ),
    );
    await store.close();
    expect(found, String(edit)).toContain(false);
  }
});

test('a message that looks like a sealed one is a message', async () => {
  for (const text of [`sealed:${codec('a').key}:AAAA`, 'plain:x', 'plain:sealed:']) {
    const path = freshPath();
    const flow = compiled({ flow: { id: 'f', entry: 'bad', nodes: [{ id: 'bad', type: 'fail', message: text }] } });
    for (const used of [codec(), codec('a')]) {
      const store = openSqlite(path, { codec: used });
      const engine = createEngine({ journal: store });
      await (await engine.run(flow, {})).result().catch(() => undefined);
      const [listed] = (await store.index.list()).items;
      expect(listed?.facts?.error?.message).toBe(text);
      await engine.close();
      await store.close();
    }
  }
});

test('attachments and memory are sealed, found, and sealed again', async () => {
  const path = freshPath();
  await openSqlite(path).close();
  const data = Buffer.from(`a picture of a ${MARK}`);
  const picture = { id: 'sha256-1', data, mediaType: 'image/png', name: `${MARK}.png`, origin: 'input' } as const;
  const owner = { tenant: null, user: null, agent: 'bot', share: null };
  const entry = {
    ...{
      id: 'm_1',
      owner,
      run: 'r_1',
      state: 'active',
      at: 1,
      expiresAt: 9e15,
      goal: `find ${MARK}`,
      answer: 'in the tree',
    },
    ...{ sources: [], trust: 'trusted', validator: '', released: null },
  } as never;
  const inClear = openMemoryStore(`${path}.memory`, { codec: codec() });
  await inClear.add(owner, entry, [1, 2]);
  await inClear.close();
  const clear = attachmentsBeside(path, codec());
  await clear.add('r_1', picture);
  await clear.close();
  expect(foundIn(path)).toEqual(['sluice.db.attachments', 'sluice.db.memory']);
  const attachments = attachmentsBeside(path, codec('a'));
  const memory = openMemoryStore(`${path}.memory`, { codec: codec('a') });
  expect([attachments.rekey(), memory.rekey()]).toEqual([2, 1]);
  expect([attachments.rekey(), memory.rekey()]).toEqual([0, 0]);
  expect(foundIn(path)).toEqual([]);
  expect(foundIn(path, MARK.toLowerCase())).toEqual([]);
  expect(await attachments.find('r_1', 'sha256-1')).toEqual({ ...picture, data });
  const query = { now: 2, text: 'tree', only: true };
  expect((await memory.find(owner, query)).map(({ id, state }) => [id, state])).toEqual([['m_1', 'active']]);
  expect(await memory.find(owner, { ...query, text: 'lake' })).toEqual([]);
  expect((await memory.find(owner, { now: 2, vector: [1, 2], only: true })).map(({ id }) => id)).toEqual(['m_1']);
  await attachments.close();
  await memory.close();
  const without = attachmentsBeside(path, codec('b'));
  await expect(without.find('r_1', 'sha256-1')).rejects.toMatchObject({ code: 'journal-key' });
  await without.close();
});

test('a run whose key is missing is refused alone', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const both = openSqlite(path, { codec: codec('b', 'a') });
  const first = createEngine({ journal: both, script: SCRIPT });
  const other = compiled({
    flow: { id: 'g', entry: 'ask', nodes: [{ id: 'ask', type: 'approval', message: 'go?', choices: ['yes', 'no'] }] },
  });
  await (await first.run(other, MARK, { id: 'r_new' })).waiting();
  await first.close();
  const only = openSqlite(path, { codec: codec('b') });
  const engine = createEngine({ journal: only, script: SCRIPT });
  const missing = { code: 'journal-key' };
  await expect(engine.open('r_waits')).rejects.toMatchObject(missing);
  await expect(engine.cancel('r_waits', 'ann')).rejects.toMatchObject(missing);
  const run = await engine.open('r_new');
  await run.answer('ask', 'yes', { by: 'ann' });
  await engine.settled('r_new');
  expect((await run.report()).code).toBe('SUCCESS');
  expect((await (await engine.run(other, MARK)).waiting()).length).toBe(1);
  await engine.close();
});

test('a rekey that meets a changed row, or lacks the old key, stops there and leaves the log append-only', async () => {
  const path = freshPath();
  await filled(path, codec('a'));
  const db = new DatabaseSync(path);
  const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'log_update'").get() as { sql: string };
  db.exec('DROP TRIGGER log_update');
  db.exec(`UPDATE log SET body = 'sealed:${codec('a').key}:AAAA' WHERE id = 2`);
  db.exec(trigger.sql);
  const store = openSqlite(path, { codec: codec('b', 'a') });
  await expect(store.rekey?.()).rejects.toMatchObject({ code: 'chain-broken' });
  expect(() => db.exec("UPDATE log SET body = 'x'")).toThrow(/append-only/);
  expect((await auditRun(store.journal, 'r_waits', await store.index.find('r_waits'))).audit.ok).toBe(true);
  await store.close();
  db.close();
  const other = freshPath();
  await filled(other, codec('a'));
  const later = openSqlite(other, { codec: codec('b', 'a') });
  const engine = createEngine({ journal: later, script: SCRIPT });
  await (await engine.run(FLOW, MARK)).waiting();
  await engine.close();
  const forgot = openSqlite(other, { codec: codec('b') });
  await expect(forgot.rekey?.()).rejects.toMatchObject({ code: 'journal-key', details: { key: codec('a').key } });
  await forgot.close();
  const both = openSqlite(other, { codec: codec('b', 'a') });
  expect(await both.rekey?.()).toBeGreaterThan(0);
  await both.close();
  expect(await headsIn(other, codec('b'))).toMatchObject({ broken: null });
});
