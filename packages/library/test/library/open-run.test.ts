/** A run that is open is read, verified and folded once, and keeps up with what is stored afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRun, readRun } from '@sluice-internal/engine/journal';
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

async function answerElsewhere(id: string, node: string): Promise<void> {
  await using engine = createEngine({ journal: join(dir, 'runs.db') });
  await (await engine.open(id)).answer(node, 'approve', { by: 'ben' });
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

  test('of the listing is refused before the run goes on', async () => {
    const id = await waitingRun();
    const { store } = counted();
    await using engine = createEngine({ journal: store });
    const run = await engine.open(id);
    change("UPDATE runs SET user = 'mallory'");
    await expect(run.answer('g1', 'approve', { by: 'anna' })).rejects.toMatchObject({ code: 'chain-broken' });
  });
});
