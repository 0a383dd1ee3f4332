/** The end of a run is kept apart from its events. A run whose end was changed is not continued. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow, Store } from '@sluice-internal/library';
import { freshPaths } from '../../../store-sqlite/test/journals/place.ts';
import { change, findings } from './changed-rows.ts';

const freshPath = freshPaths();
const ROW = "(SELECT id FROM runs WHERE run = 'r')";
const { flow: steps } = compile({
  agents: [{ id: 'worker', instructions: 'Work.' }],
  flow: {
    id: 'three',
    entry: 'n1',
    nodes: [step('n1', 'n2'), step('n2', 'n3'), step('n3', 'end')],
  },
});

function step(id: string, to: string): object {
  return { id, type: 'agent', agent: 'worker', input: { task: 'go' }, routes: [{ to }] };
}

describe('a run that stopped in the middle of its work', () => {
  /** `r` and `other` wait for the result of their second step; no process works on them. */
  async function stopped(): Promise<string> {
    const path = freshPath();
    for (const run of ['r', 'other']) {
      const reached = Promise.withResolvers<void>();
      let calls = 0;
      const model = (): string | Promise<string> => {
        calls += 1;
        if (calls === 1) return 'first';
        reached.resolve();
        return new Promise(() => undefined);
      };
      const engine = createEngine({ journal: path, pickUp: false, model });
      await engine.start(steps as CompiledFlow, { run });
      await reached.promise;
      await engine.close();
    }
    return path;
  }

  async function resume(path: string, run: string): Promise<string | undefined> {
    const engine = createEngine({ journal: path, pickUp: false, model: () => 'again' });
    try {
      await engine.resume(run);
      return (await engine.settled(run)).code ?? undefined;
    } catch (error) {
      return (error as { code?: string }).code;
    } finally {
      await engine.close();
    }
  }

  const LAST = `DELETE FROM log WHERE id = (SELECT max(id) FROM log WHERE run = ${ROW})`;
  const NO_END = `DELETE FROM ends WHERE run = ${ROW}`;

  test('goes on if nothing was changed', async () => {
    const path = await stopped();
    expect(await findings(path)).toEqual([]);
    expect(await resume(path, 'r')).toBe('SUCCESS');
    expect(await findings(path)).toEqual([]);
  });

  test('its last events are deleted: it is refused, and other runs go on', async () => {
    const path = await stopped();
    change(path, LAST);
    expect(await resume(path, 'r')).toBe('chain-broken');
    expect(await findings(path)).not.toEqual([]);
    expect(await resume(path, 'other')).toBe('SUCCESS');
  });

  test.each([
    ['its end is changed', [`UPDATE ends SET events = events + 1 WHERE run = ${ROW}`]],
    ['its end is changed to fit', [LAST, FITTING_END()]],
    ['its end is deleted', [NO_END]],
    ['its end is deleted with the events', [CUT_TO_LISTING(), NO_END]],
    ['all ends are deleted', [CUT_TO_LISTING(), 'DELETE FROM ends']],
    ['its count of signatures is changed', [`UPDATE ends SET signed = 1 WHERE run = ${ROW}`]],
    ['the chains are deleted', [CUT_TO_LISTING(), FITTING_END(), 'DELETE FROM heads']],
    ['its place in the chains is that of another', [`UPDATE ends SET at = (SELECT max(at) FROM ends)`]],
    ['its head is no hash', [`UPDATE ends SET head = '' WHERE run = ${ROW}`]],
  ])('%s: it is refused, and the audit finds it', async (_, statements) => {
    const path = await stopped();
    change(path, ...statements);
    expect(await resume(path, 'r')).toBe('chain-broken');
    expect(await findings(path)).not.toEqual([]);
  });

  function FITTING_END(): string {
    const last = `FROM log WHERE run = ${ROW} ORDER BY after DESC LIMIT 1`;
    return `UPDATE ends SET events = (SELECT after + count ${last}), head = (SELECT hash ${last}) WHERE run = ${ROW}`;
  }

  function CUT_TO_LISTING(): string {
    return `DELETE FROM log WHERE run = ${ROW} AND after > 0`;
  }

  describe('a worker has claimed it, and has checked another run', () => {
    async function claimed(path: string): Promise<Store> {
      const store = openSqlite(path);
      onTestFinished(() => store.close());
      await store.leases.renew('w', 600_000);
      expect(await store.leases.claim('w', { limit: 10 })).toEqual(['r', 'other']);
      expect(await store.journal.broken?.('other')).toBeNull();
      return store;
    }

    test.each([
      ['changed', [`UPDATE ends SET events = events + 1 WHERE run = ${ROW}`]],
      ['changed to fit', [LAST, FITTING_END()]],
      ['deleted', [NO_END]],
      ['deleted with the events', [CUT_TO_LISTING(), NO_END]],
      ['deleted with all others', [CUT_TO_LISTING(), 'DELETE FROM ends']],
    ])('its end is %s after that: it is refused', async (_, statements) => {
      const path = await stopped();
      const store = await claimed(path);
      change(path, ...statements);
      expect(await store.journal.broken?.('r')).toEqual(expect.any(String));
    });
  });

  test.each([
    ['an end is added', "INSERT INTO ends VALUES (99, 'x', 1, 'x', 0, 'x', 1)"],
    ['the end of another run is deleted', "DELETE FROM ends WHERE name = 'other'"],
    ['an entry of another run is added', "INSERT INTO heads VALUES (99, 1, '{}', 'x')"],
    ['the last row of the chains is deleted', 'DELETE FROM heads WHERE id = (SELECT max(id) FROM heads)'],
    ['the last chain is deleted', 'DELETE FROM heads WHERE chain = (SELECT max(chain) FROM heads)'],
  ])('%s: the audit finds it', async (_, sql) => {
    const path = await stopped();
    change(path, sql);
    expect(await findings(path)).not.toEqual([]);
  });

  test('an end of a run that has ended is found', async () => {
    const path = await stopped();
    expect(await resume(path, 'r')).toBe('SUCCESS');
    change(path, `UPDATE ends SET events = 1, head = 'x' WHERE run = ${ROW}`);
    expect(await findings(path)).not.toEqual([]);
    const store = openSqlite(path);
    expect(await store.index.remove(['r'])).toEqual([]);
    await store.close();
  });
});
