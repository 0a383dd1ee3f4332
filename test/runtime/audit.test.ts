/** A tail that was cut off breaks no link: what the roster says of the run tells. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '../../src/index.ts';
import type { CompiledFlow } from '../../src/index.ts';
import { audit, replay } from '../../src/runtime/journal/audit.ts';

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
  await expect(replay(store.journal, run, await store.roster.find(run))).rejects.toMatchObject({
    code: 'chain-broken',
  });
  await store.close();
});

async function look(path: string, run: string) {
  const store = openSqlite(path);
  const result = await audit(store.journal, run, await store.roster.find(run));
  await store.close();
  return result;
}
