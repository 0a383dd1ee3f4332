/** The end of a run that works is kept apart from its events. A run whose end was changed is not continued. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openSqlite } from '@sluice-internal/library';
import type { CompiledFlow, Store } from '@sluice-internal/library';
import { EndsChange, sumOf, sumOfEnds, textOf, weightOf, weightOfRow } from '../../../store-sqlite/src/sealed-run.ts';
import type { EndRow, Weight } from '../../../store-sqlite/src/sealed-run.ts';
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

  test('goes on if nothing was changed, and its end leaves the list of ends', async () => {
    const path = await stopped();
    const db = new DatabaseSync(path);
    onTestFinished(() => db.close());
    const ends = db.prepare('SELECT count(*) AS n FROM ends');
    expect(ends.get()).toEqual({ n: 3 });
    expect(await findings(path)).toEqual([]);
    expect(await resume(path, 'r')).toBe('SUCCESS');
    expect(ends.get()).toEqual({ n: 2 });
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
    ['the ends are emptied', [CUT_TO_LISTING(), 'DELETE FROM ends WHERE run <> 0', "UPDATE ends SET head = '0'"]],
    ['the sum is changed', ["UPDATE ends SET head = '1' WHERE run = 0"]],
    ['its count of signatures is changed', [`UPDATE ends SET signed = 1 WHERE run = ${ROW}`]],
    ['an end is added', ["INSERT INTO ends VALUES (99, 1, 'x', 0)"]],
    [
      'an end without a run is added',
      ['INSERT INTO ends SELECT 99, events, head, signed FROM ends WHERE run <> 0 LIMIT 1'],
    ],
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
    return `DELETE FROM log WHERE run = ${ROW} AND after >= (SELECT events FROM runs WHERE run = 'r')`;
  }

  describe('a worker has claimed it with another run, whose check has read all ends', () => {
    async function claimed(path: string): Promise<Store> {
      const store = openSqlite(path);
      onTestFinished(() => store.close());
      await store.leases.renew('w', 600_000);
      expect(await store.leases.claim('w', { limit: 10 })).toEqual(['r', 'other']);
      expect(await store.journal.broken?.('other')).toBeNull();
      return store;
    }
    const ADDED = "INSERT INTO ends VALUES (99, 1, 'x', 0)";

    test('the ends are not read again for it, and a second check reads them', async () => {
      const path = await stopped();
      const store = await claimed(path);
      change(path, ADDED);
      expect(await store.journal.broken?.('r')).toBeNull();
      expect(await store.journal.broken?.('r')).toContain('do not add up');
      expect(await store.journal.broken?.('other')).toContain('do not add up');
      expect(await store.journal.broken?.()).toContain('do not add up');
    });

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

    test('another worker claims it and the end of a third run is changed: it is refused', async () => {
      const path = await stopped();
      const store = await claimed(path);
      await store.leases.release('w', ['r']);
      await store.leases.renew('v', 600_000);
      expect(await store.leases.claim('v', { run: 'r' })).toEqual(['r']);
      change(path, ADDED);
      expect(await store.journal.broken?.('r')).toContain('do not add up');
    });
  });

  test('an end of a run that has ended is found', async () => {
    const path = await stopped();
    expect(await resume(path, 'r')).toBe('SUCCESS');
    change(path, `INSERT INTO ends VALUES (${ROW}, 1, 'x', 0)`);
    expect(await findings(path)).not.toEqual([]);
    const store = openSqlite(path);
    expect(await store.index.remove(['r'])).toEqual([]);
    await store.close();
  });
});

test('the change of the sum is that of the rows: hashes, texts of others, counts and signatures', () => {
  const row = (id: number, head: string, events: number, signed: number): EndRow => [
    id,
    `r${id}`,
    events,
    head,
    signed,
  ];
  const hashed = (fill: string): string => fill.repeat(42) + 'A';
  const before = [row(1, hashed('_'), 5, 0), row(2, hashed('0'), 2 ** 40, 1), row(3, 'no hash', 7, 0)];
  const after = [row(1, hashed('-'), 9, 2), row(3, hashed('_'), 8, 0), row(4, hashed('_'), 1, 0)];
  const change = new EndsChange();
  for (let id = 1; id <= 4; id++) change.add(`r${id}`, endIn(before, id), endIn(after, id));
  const total = (rows: readonly EndRow[]): Weight =>
    sumOf([weightOf('ends', 's'), ...rows.map((each) => weightOfRow(each) ?? 0n)]);
  expect(change.addTo(textOf(total(before)))).toBe(
    sumOfEnds(
      's',
      after.map((each) => weightOfRow(each) ?? 0n),
    ),
  );
  expect(change.addTo(textOf(5n))).toBe(textOf(5n));
});

function endIn(rows: readonly EndRow[], id: number): { events: number; head: string; signed: number } | null {
  const [, , events, head, signed] = rows.find(([each]) => each === id) ?? [];
  return head === undefined ? null : { events: events ?? 0, head, signed: signed ?? 0 };
}
