/** A tail that was cut off breaks no link: what the index says of the run tells. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow, SluiceError } from '@sluice-internal/library';
import { audit, auditRun, replay } from '@sluice-internal/engine/audit';
import { link } from '@sluice-internal/engine/journal';
import type { Journal, StoredAppend, StoredRun } from '@sluice-internal/engine/ports';

const { flow } = compile({ steps: ['one', 'two'].map((name) => ({ name, agent_name: name })) });

test.each([
  [
    'the last events',
    'DELETE FROM log WHERE id = (SELECT max(id) FROM log)',
    /listed as completed SUCCESS.*unfinished/,
  ],
  ['the entry', "UPDATE runs SET status = 'failed', code = 'TIMEOUT'", /listed as failed TIMEOUT.*completed SUCCESS/],
])('somebody changes %s of a run that has ended', async (_, change, words) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-audit-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'runs.db');
  const engine = createEngine({ journal: path, model: () => 'done' });
  const run = await engine.start(flow as CompiledFlow, { input: 'x' });
  await engine.settled(run);
  await engine.close();
  expect((await look(path, run)).ok).toBe(true);
  const db = new DatabaseSync(path);
  db.exec(`DROP TRIGGER log_delete; ${change}`);
  db.close();
  const { ok, broken } = await look(path, run);
  expect(ok).toBe(false);
  expect(broken?.message).toMatch(words);
  const store = openSqlite(path);
  await expect(replay(store.journal, run, await store.index.find(run))).rejects.toMatchObject({
    code: 'chain-broken',
  });
  await store.close();
});

describe('an event with a valid hash that does not follow from the state', () => {
  test('is a finding of the audit', async () => {
    const { store, last } = await forged();
    const { broken } = await audit(store.journal, 'r', await store.index.find('r'));
    expect(broken).toMatchObject({ seq: last.after + 1, message: expect.stringContaining('invariant') });
  });

  test('cannot be read, and the run does not continue; other runs do', async () => {
    const { store } = await forged();
    const faults = new Set<unknown>();
    const onFault = (error: Error) => faults.add((error as SluiceError).code);
    const engine = createEngine({ journal: store, model: () => 'done', onFault });
    await expect(engine.resume('r')).rejects.toMatchObject({ code: 'chain-broken' });
    await expect(engine.get('r')).rejects.toMatchObject({ code: 'journal-damaged' });
    const { code } = await engine.settled(await engine.start(flow as CompiledFlow, { input: 'x' }));
    expect({ code, faults }).toEqual({ code: 'SUCCESS', faults: new Set(['chain-broken']) });
    await engine.close();
  });
});

/** A store with an open run `r` whose last event settles a call that was never requested. */
async function forged() {
  const store = openMemory();
  const { promise: hangs, resolve } = Promise.withResolvers<unknown>();
  let calls = 0;
  const model = () => (++calls === 1 ? 'done' : (resolve(null), new Promise<string>(() => undefined)));
  const engine = createEngine({ journal: { ...store, close: async () => undefined }, model });
  const run = await engine.start(flow as CompiledFlow, { run: 'r', input: 'x' });
  await hangs;
  await engine.close();
  const stored = (await store.journal.load(run, { snapshot: false })) as StoredRun;
  const last = stored.appends.at(-1) as StoredAppend;
  const body = last.body.replace(/\d+#\d+/, '0#99');
  const hash = link(stored.appends.at(-2)?.hash ?? '', last.after, last.at, body);
  const changed = { ...stored, appends: [...stored.appends.slice(0, -1), { ...last, body, hash }] };
  const load: Journal['load'] = async (id, options) => (id === run ? changed : store.journal.load(id, options));
  return { store: { ...store, journal: { ...store.journal, load } }, last };
}

async function look(path: string, run: string) {
  const store = openSqlite(path);
  const result = await audit(store.journal, run, await store.index.find(run));
  await store.close();
  return result;
}

test('a run is loaded once for its audit, and once for its replay', async () => {
  const store = openMemory();
  let loads = 0;
  const load: Journal['load'] = (run, options) => {
    loads += 1;
    return store.journal.load(run, options);
  };
  const journal = { ...store.journal, load };
  const engine = createEngine({ journal: { ...store, journal }, model: () => 'done' });
  onTestFinished(() => engine.close());
  const run = await engine.start(flow as CompiledFlow, { input: 'x' });
  await engine.settled(run);
  loads = 0;
  expect(await auditRun(journal, run, await store.index.find(run))).toMatchObject({
    audit: { ok: true },
    state: { run },
    stored: { snapshot: null },
  });
  expect(loads).toBe(1);
  await replay(journal, run);
  expect(loads).toBe(2);
});
