/** A run that is open is read, verified and folded once, and keeps up with what is stored afterwards. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openRun, openToContinue, readRun } from '@sluice-internal/engine/journal';
import { reportOf } from '@sluice-internal/engine/report';
import type { Journal, Store } from '@sluice-internal/engine/ports';
import { compiled } from '../../../../test/support/harness.ts';
import { createEngine, openSqlite } from '../../src/index.ts';

const GATES = 3;
const FLOW = {
  id: 'gates',
  entry: 'g1',
  max_iterations: 200,
  nodes: [
    ...Array.from({ length: GATES }, (_, index) => ({
      id: `g${index + 1}`,
      type: 'approval',
      message: `Go on past ${index + 1}?`,
      routes: [{ to: index + 1 < GATES ? `g${index + 2}` : 'out' }],
    })),
    { id: 'out', type: 'terminal', output: '{{ event.payload.big }}' },
  ],
};
/** Longer than a value that stays in its event. */
const INPUT = { big: 'x'.repeat(10_000) };

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'sluice-open-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The store of the folder, and the loads of its journal. */
function counted(): { readonly store: Store; readonly loads: () => number; readonly journal: Journal } {
  const store = openSqlite(join(dir, 'runs.db'));
  let loads = 0;
  const load: Journal['load'] = (...given) => {
    loads += 1;
    return store.journal.load(...given);
  };
  const journal = { ...store.journal, load };
  return { store: { ...store, journal }, loads: () => loads, journal };
}

/** Starts a run that waits at its first gate, in an engine that is closed again. */
async function waitingRun(): Promise<string> {
  await using engine = createEngine({ journal: join(dir, 'runs.db') });
  const { id } = await engine.run(compiled({ flow: FLOW }), INPUT);
  await engine.wait(id);
  return id;
}

async function answerElsewhere(id: string, node: string, by = 'ben', file = 'runs.db'): Promise<void> {
  await using engine = createEngine({ journal: join(dir, file) });
  await (await engine.open(id)).answer(node, 'approve', { by });
  await engine.wait(id);
}

test('one load serves questions, events and reports to the end of the run; each answer compares the stored rows again', async () => {
  const id = await waitingRun();
  const { store, loads } = counted();
  await using engine = createEngine({ journal: store });
  const run = await engine.open(id);
  expect((await run.questions()).map(({ node }) => node)).toEqual(['g1']);
  for (let gate = 1; gate <= GATES; gate++) await run.answer(`g${gate}`, 'approve', { by: 'anna' });
  const { output, code } = await run.result();
  expect({ output, code }).toEqual({ output: INPUT.big, code: 'SUCCESS' });
  const types = [];
  for await (const { type } of run.events()) types.push(type);
  expect(types.at(-1)).toBe('run.ended');
  expect((await engine.get(id)).state).toBe('completed');
  expect(loads()).toBe(1 + GATES);
});

test('its report is the one that a new reader computes', async () => {
  const id = await waitingRun();
  const { store, journal } = counted();
  await using engine = createEngine({ journal: store });
  const run = await engine.open(id);
  await run.answer('g1', 'approve', { by: 'anna' });
  await run.waiting();
  expect(await run.report()).toEqual(reportOf(await readRun(journal, id)));
});

test('what another process stores is taken in, and read once', async () => {
  const id = await waitingRun();
  const { store, loads, journal } = counted();
  await using engine = createEngine({ journal: store });
  const run = await engine.open(id);
  await answerElsewhere(id, 'g1');
  expect((await run.questions()).map(({ node }) => node)).toEqual(['g2']);
  expect(loads()).toBe(2);
  expect(await run.report()).toEqual(reportOf(await readRun(journal, id)));
  await run.answer('g2', 'approve', { by: 'anna' });
  await run.answer('g3', 'approve', { by: 'anna' });
  expect((await run.result()).approvals).toEqual({ g1: 'approve', g2: 'approve', g3: 'approve' });
  expect(loads()).toBe(5);
});

test('an answer that is refused leaves the open run as it was', async () => {
  const id = await waitingRun();
  await using engine = createEngine({ journal: counted().store });
  const run = await engine.open(id);
  const before = await run.report();
  await expect(run.answer('g1', 'perhaps', { by: 'anna' })).rejects.toThrow('perhaps');
  expect(await run.report()).toEqual(before);
  await run.answer('g1', 'approve', { by: 'anna' });
  expect((await run.waiting()).map(({ node }) => node)).toEqual(['g2']);
});

test('`resume` and `fork` of a handle work on its run', async () => {
  const id = await waitingRun();
  await using engine = createEngine({ journal: counted().store });
  const run = await engine.open(id);
  await run.resume();
  const forked = await run.fork({ at: 2, by: 'olga' });
  expect((await forked.report()).parent).toMatchObject({ run: id });
  expect((await forked.waiting()).map(({ node }) => node)).toEqual(['g1']);
  expect((await run.report()).state).toBe('suspended');
});

describe('a change from outside', () => {
  function change(sql: string): void {
    const database = new DatabaseSync(join(dir, 'runs.db'));
    // A person who can write the file can drop its triggers.
    const triggers = database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all();
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec(sql);
    database.close();
  }

  test('of events that are stored after the run was opened is refused', async () => {
    const id = await waitingRun();
    const { journal, store } = counted();
    const opened = await openRun(journal, id);
    const { seq } = opened;
    await answerElsewhere(id, 'g1');
    change(`UPDATE log SET body = replace(body, 'ben', 'eva') WHERE after >= ${seq}`);
    await expect(opened.refresh()).rejects.toMatchObject({ code: 'chain-broken' });
    expect(opened.seq).toBe(seq);
    await store.close();
  });

  test.each([
    ['that another person had answered', 'eva'],
    ['before the answer', null],
  ])('to a true copy of the rows from a database %s is refused', async (_, by) => {
    // At one instant, so that the times of the two histories agree.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const id = await waitingRun();
    copyFileSync(join(dir, 'runs.db'), join(dir, 'other.db'));
    if (by !== null) await answerElsewhere(id, 'g1', by, 'other.db');
    await answerElsewhere(id, 'g1');
    await using engine = createEngine({ journal: join(dir, 'runs.db') });
    const run = await engine.open(id);
    expect((await run.questions()).map(({ node }) => node)).toEqual(['g2']);
    takeRowsOf('other.db');
    const store = openSqlite(join(dir, 'runs.db'));
    expect(await store.journal.broken?.(id)).toBeNull();
    await store.close();
    await expect(run.answer('g2', 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'chain-broken' });
  });

  /** Replaces all rows but those of the live processes. */
  function takeRowsOf(file: string): void {
    const database = new DatabaseSync(join(dir, 'runs.db'), { enableForeignKeyConstraints: false });
    const listed = database.prepare('SELECT type, name, sql FROM sqlite_master').all();
    const triggers = listed.filter(({ type }) => type === 'trigger');
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec(`ATTACH '${join(dir, file)}' AS other`);
    for (const { type, name } of listed) {
      if (type !== 'table' || name === 'workers') continue;
      database.exec(
        `DELETE FROM main.${String(name)}; INSERT INTO main.${String(name)} SELECT * FROM other.${String(name)}`,
      );
    }
    for (const { sql } of triggers) database.exec(String(sql));
    database.close();
  }

  test('of the listing is refused before the run goes on', async () => {
    const id = await waitingRun();
    const { store } = counted();
    await using engine = createEngine({ journal: store });
    const run = await engine.open(id);
    change("UPDATE runs SET user = 'mallory'");
    await expect(run.answer('g1', 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'chain-broken' });
  });
});

describe('the memory of an open run', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  /** The loads when the run is opened, its memory is collected, and the run is opened again. */
  async function loadsOfTwo(open: typeof openRun): Promise<number> {
    const id = await waitingRun();
    const { store, loads, journal } = counted();
    await open(journal, id);
    // A reference is weak only after the turn of the event loop in which it was made.
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
    await openRun(journal, id);
    await store.close();
    return loads();
  }

  test('is freed when nothing refers to the run', async () => {
    expect(await loadsOfTwo(openRun)).toBe(2);
  });

  test('is kept for a command that continues the run, so that it is read once', async () => {
    expect(await loadsOfTwo(openToContinue)).toBe(1);
  });
});
