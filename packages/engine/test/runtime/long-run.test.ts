/** A long run continues from its snapshot at once. Its earliest events are verified before anything is stored. */
import { copyFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';

const freshPath = freshPaths();
const STEPS = 500;
const { flow } = compile({
  agents: [{ id: 'worker', instructions: 'Work.' }],
  flow: {
    id: 'long',
    entry: 'body',
    max_iterations: STEPS + 2,
    nodes: [
      {
        id: 'body',
        type: 'agent',
        agent: 'worker',
        input: { task: 'go' },
        routes: [
          { when: "body.output != 'stop'", to: 'body' },
          { when: 'default', to: 'end' },
        ],
      },
    ],
  },
});

const made = new Map<string | undefined, Promise<string>>();

/** A copy of a database that is made once: a run that waits for its last step, and no process works on it. */
async function stopped(signingKey?: string): Promise<string> {
  const original = made.get(signingKey) ?? makeStopped(signingKey);
  made.set(signingKey, original);
  const path = freshPath();
  await openSqlite(path).close();
  copyFileSync(await original, path);
  return path;
}

/** Only the first 50 steps are signed. */
async function makeStopped(signingKey: string | undefined): Promise<string> {
  const path = freshPath();
  if (signingKey !== undefined) await workUntil(path, 50, signingKey);
  await workUntil(path, signingKey === undefined ? STEPS : STEPS - 50);
  return path;
}

async function workUntil(path: string, steps: number, signingKey?: string): Promise<void> {
  const reached = Promise.withResolvers<void>();
  let calls = 0;
  const model = (): string | Promise<string> => {
    calls += 1;
    if (calls <= steps) return 'more';
    reached.resolve();
    return new Promise(() => undefined);
  };
  const signed = signingKey === undefined ? {} : { signingKey };
  const engine = createEngine({ journal: path, pickUp: false, snapshotEvery: 100, model, ...signed });
  if ((await engine.list()).length === 0) await engine.start(flow as CompiledFlow, { run: 'r' });
  else await engine.resume('r');
  await reached.promise;
  await engine.close();
}

interface Continued {
  readonly code: string | undefined;
  readonly calls: number;
  readonly faults: readonly string[];
  /** Rows of the log that were added. */
  readonly stored: number;
}

async function resume(path: string): Promise<Continued> {
  const faults: string[] = [];
  let calls = 0;
  const before = rowsIn(path);
  const engine = createEngine({
    journal: path,
    pickUp: false,
    snapshotEvery: 100,
    model: () => {
      calls += 1;
      return 'stop';
    },
    onFault: (error) => faults.push((error as Error & { code: string }).code),
  });
  const code = await engine
    .resume('r')
    .then(() => engine.settled('r'))
    .then(
      (settled) => settled.code ?? undefined,
      (error: { code?: string }) => error.code,
    );
  await engine.close();
  return { code, calls, faults, stored: rowsIn(path) - before };
}

function rowsIn(path: string): number {
  const db = new DatabaseSync(path);
  const { n } = db.prepare('SELECT count(*) AS n FROM log').get() as { n: number };
  db.close();
  return n;
}

function change(path: string, ...statements: readonly string[]): void {
  const db = new DatabaseSync(path);
  for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.exec(`DROP TRIGGER ${String(name)}`);
  for (const sql of statements) expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}

test('an untouched run goes on from its snapshot', async () => {
  const path = await stopped();
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  expect(db.prepare('SELECT seq FROM snapshots').get()?.['seq']).toBeGreaterThan(1000);
  expect(await resume(path)).toMatchObject({ code: 'SUCCESS', calls: 1, faults: [] });
});

test.each([
  ['an early event is changed', "UPDATE log SET body = replace(body, 'more', 'less') WHERE id = 20"],
  ['the time of an early event is changed', 'UPDATE log SET at = at + 1 WHERE id = 20'],
  ['the hash of an early event is changed', "UPDATE log SET hash = 'x' WHERE id = 20"],
  ['the count of an early event is changed', 'UPDATE log SET count = count + 1 WHERE id = 20'],
  ['an early event is deleted', 'DELETE FROM log WHERE id = 20'],
  ['early events are moved', 'UPDATE log SET after = -after WHERE id IN (20, 21)'],
])('%s: nothing is stored, and the run stops with a typed error', async (_, sql) => {
  const path = await stopped();
  change(path, sql);
  const continued = await resume(path);
  expect(continued).toMatchObject({ code: 'chain-broken', faults: ['chain-broken'], stored: 0 });
  // The call that the run was waiting for follows from the snapshot.
  expect(continued.calls).toBeLessThanOrEqual(1);
  expect((await resume(path)).code).toBe('chain-broken');
});

test.each([
  ['the graph', ["UPDATE flows SET text = replace(text, 'Work.', 'Play.')"]],
  ['the first event', ['UPDATE log SET at = at + 1 WHERE id = 1']],
  ['an event before the snapshot', [near('UPDATE log SET at = at + 1')]],
  ['an event before the snapshot that is gone', [near('DELETE FROM log')]],
  ['the snapshot', ["UPDATE snapshots SET body = replace(body, 'more', 'less')"]],
  ['the print in the snapshot', ['UPDATE snapshots SET body = replace(body, \'"graph":"\', \'"graph":"x\')']],
  ['the last event', ['UPDATE log SET at = at + 1 WHERE id = (SELECT max(id) FROM log)']],
  ['the last events, which are gone', ['DELETE FROM log WHERE id >= (SELECT max(id) - 3 FROM log)']],
])('after a change of %s nothing is called', async (_, statements) => {
  const path = await stopped();
  change(path, ...statements);
  expect(await resume(path)).toEqual({ code: 'chain-broken', calls: 0, faults: ['chain-broken'], stored: 0 });
});

function near(statement: string): string {
  return `${statement} WHERE after = (SELECT max(after) FROM log WHERE after < (SELECT seq - 100 FROM snapshots))`;
}

test('a run whose last checkpoint lies far back is verified as a whole first', async () => {
  const { generateKeyPairSync } = await import('node:crypto');
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const path = await stopped(key);
  const db = new DatabaseSync(path);
  const { n } = db.prepare('SELECT count(*) AS n FROM checkpoints').get() as { n: number };
  expect(n).toBeGreaterThan(0);
  db.close();
  expect(await resume(path)).toMatchObject({ code: 'SUCCESS', calls: 1 });
  const changed = await stopped(key);
  change(changed, 'UPDATE log SET at = at + 1 WHERE id = 20');
  expect(await resume(changed)).toMatchObject({ code: 'chain-broken', calls: 0, stored: 0 });
});
