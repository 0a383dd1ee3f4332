/** A young database that is copied without its log after a crash: no effect is made under a second key. */
import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Engine, Store } from '@sluice-internal/engine/ports';
import { functionPerformer } from '../../../library/src/host/functions.ts';
import { openSqlite } from '../../src/open.ts';
import { createTables } from '../../src/schema.ts';
import { freshPaths } from './place.ts';
import { startChild } from './processes.ts';

const freshPath = freshPaths();
const TOOLS = ['pay', 'mail', 'ship'];
const { flow } = compile({
  tools: Object.fromEntries(TOOLS.map((tool) => [tool, { effect: 'write' }])),
  flow: {
    id: 'young',
    entry: TOOLS[0],
    nodes: TOOLS.map((tool, at) => ({
      ...{ id: tool, type: 'tool', tool },
      ...(at < 2 ? { routes: [{ to: TOOLS[at + 1] }] } : {}),
    })),
  },
});

/** Each effect counts once for each key under which it was made. */
async function effectsOf(store: Store, effects: Set<string>): Promise<Engine> {
  const tool = (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }): null => {
    effects.add(idempotencyKey);
    return null;
  };
  const tools = Object.fromEntries(TOOLS.map((name) => [name, tool]));
  const engine = createRuntime({ store, performer: functionPerformer({ tools }) });
  onTestFinished(() => engine.close());
  await engine.start(flow as CompiledFlow, { run: 'order-1' });
  expect(await engine.settled('order-1')).toMatchObject({ state: 'completed' });
  return engine;
}

test('only the database file is copied: the run is started again, and each effect is made under its first key', async () => {
  const path = freshPath();
  const copy = `${path}.copy`;
  const effects = new Set<string>();
  const store = openSqlite(path);
  await effectsOf(store, effects);
  copyFileSync(path, copy);
  const restored = openSqlite(copy);
  expect(restored.id).toBe(store.id);
  expect((await restored.index.list()).items).toEqual([]);
  await effectsOf(restored, effects);
  expect(effects.size).toBe(TOOLS.length);
});

test('a process that is killed right after its first commit leaves the id in the file', async () => {
  const path = freshPath();
  const copy = `${path}.copy`;
  const child = startChild('holder', path, 'w1');
  await child.said();
  child.process.kill('SIGKILL');
  await child.exited();
  copyFileSync(path, copy);
  const store = openSqlite(path);
  expect(idIn(copy)).toBe(store.id);
  await store.close();
});

test('a process died before the tables were in the file: the next one puts the id there', async () => {
  const path = freshPath();
  const copy = `${path}.copy`;
  await openSqlite(path).close();
  rmSync(path);
  const died = new DatabaseSync(path);
  died.exec('PRAGMA journal_mode = WAL');
  createTables(died, path);
  copyFileSync(path, copy);
  expect(() => idIn(copy)).toThrow('no such table');
  const store = openSqlite(path);
  copyFileSync(path, copy);
  expect(idIn(copy)).toBe(store.id);
  await store.close();
  died.close();
});

function idIn(path: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare('SELECT id FROM store').get()?.['id'];
  } finally {
    db.close();
  }
}
