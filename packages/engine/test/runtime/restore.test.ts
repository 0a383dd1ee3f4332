/** A run that a database has lost is restored from its export, with its keys. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { audit, exportRun, replay, restoreRunFile } from '@sluice-internal/engine/audit';
import { createEngine, openSqlite } from '@sluice-internal/library';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';
import { flowOf } from '../protections/run-flow.ts';

const freshPath = freshPaths();
const FLOW = flowOf({
  tools: { 'my.note': { effect: 'write' }, 'pay.out': { effect: 'financial' } },
  flow: {
    id: 'pays',
    entry: 'note',
    nodes: [
      { id: 'note', type: 'tool', tool: 'my.note', routes: [{ to: 'ask' }] },
      {
        id: 'ask',
        type: 'approval',
        message: 'Pay?',
        routes: [
          { when: "approvals.ask == 'approve'", to: 'pay' },
          { when: 'default', to: 'end' },
        ],
      },
      { id: 'pay', type: 'tool', tool: 'pay.out', params: { to: 'ann' } },
    ],
  },
});

/** A run that waits, its export, and a backup from before it. */
async function lost() {
  const path = freshPath();
  const backup = freshPath();
  await openSqlite(path).close();
  mkdirSync(dirname(backup), { recursive: true });
  copyFileSync(path, backup);
  const keys: string[] = [];
  const tools = {
    'my.note': async () => 'x'.repeat(5000),
    'pay.out': async (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
      keys.push(idempotencyKey);
      return 'paid';
    },
  };
  const engine = createEngine({ journal: path, tools });
  const run = await engine.start(FLOW, { run: 'r', input: { message: 'pay' } });
  const waiting = await engine.settled(run);
  await engine.close();
  const store = openSqlite(path);
  const file = await exportRun(store, run);
  await store.close();
  return { path, backup, keys, tools, waiting, file };
}

async function answered(journal: string, tools: object): Promise<unknown> {
  const engine = createEngine({ journal, tools: tools as never });
  const { waiting } = await engine.get('r');
  await engine.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'anna' });
  const { code } = await engine.settled('r');
  await engine.close();
  return code;
}

describe('a run that is lost', () => {
  test('is what it was, and goes on under the same keys', async () => {
    const { path, backup, keys, tools, waiting, file } = await lost();
    const store = openSqlite(backup);
    await restoreRunFile(store, JSON.parse(JSON.stringify(file)));
    expect(await exportRun(store, 'r')).toEqual(file);
    expect(await audit(store.journal, 'r', await store.index.find('r'))).toMatchObject({ ok: true });
    expect(await replay(store.journal, 'r')).toMatchObject({ agrees: true });
    await store.close();
    const engine = createEngine({ journal: backup, tools });
    expect(await engine.get('r')).toEqual(waiting);
    await engine.close();
    expect([await answered(backup, tools), await answered(path, tools)]).toEqual(['SUCCESS', 'SUCCESS']);
    expect(new Set(keys).size).toBe(1);
  });

  test('is not restored from a changed file, over a run that is there, or into another database', async () => {
    const { path, backup, file } = await lost();
    const [own, old, other] = [openSqlite(path), openSqlite(backup), openSqlite(freshPath())];
    await expect(restoreRunFile(own, file)).rejects.toMatchObject({ code: 'run-exists' });
    await expect(restoreRunFile(other, file)).rejects.toMatchObject({ code: 'bad-restore' });
    const changed = JSON.parse(JSON.stringify(file).replaceAll('Pay?', 'Buy?'));
    await expect(restoreRunFile(old, changed)).rejects.toMatchObject({ code: 'bad-restore' });
    expect((await old.index.list({})).items).toEqual([]);
    for (const store of [own, old, other]) await store.close();
  });
});
