/** `engine.feed`: the steps of all runs of all processes, in the order in which they were stored. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import type { CreateEngineOptions, Engine } from '../../src/index.ts';
import { refusedWith } from '../../../engine/test/people/people.ts';
import { compiled } from '../../../../test/support/harness.ts';

const FLOW = compiled({
  flow: {
    id: 'f',
    entry: 'ask',
    nodes: [{ id: 'ask', type: 'approval', message: 'go?', choices: ['yes', 'no'], routes: [{ to: 'end' }] }],
  },
});

function engineAt(journal: CreateEngineOptions['journal'] & {}, options: CreateEngineOptions = {}): Engine {
  const engine = createEngine({ journal, ...options });
  onTestFinished(() => engine.close());
  return engine;
}

function database(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-feed-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'sluice.db');
}

type Change = { readonly cursor: string; readonly run: string; readonly status: string; readonly seq: number };

/** Reads until the run has this status. */
async function until(feed: AsyncIterable<Change>, run: string, status: string): Promise<readonly Change[]> {
  const read: Change[] = [];
  for await (const change of feed) {
    read.push(change);
    if (change.run === run && change.status === status) break;
  }
  return read;
}

async function finish(engine: Engine, id: string): Promise<void> {
  const run = await engine.run(FLOW, {}, { id });
  await run.answer('ask', 'yes', { by: 'anna' });
  await run.result();
}

test.each([
  ['in memory', () => openMemory()],
  ['in a file', () => database()],
])('a reader that comes back gets every change once and in order: %s', async (_, place) => {
  const engine = engineAt(place());
  for (const id of ['r_1', 'r_2', 'r_3']) await finish(engine, id);
  const all = await until(engine.feed(), 'r_3', 'completed');
  const seen: Change[] = [];
  for (let after = '', last = false; !last;) {
    for await (const change of engine.feed({ after })) {
      seen.push(change);
      after = change.cursor;
      last = change.cursor === all.at(-1)?.cursor;
      break;
    }
  }
  expect(seen).toEqual(all);
  for (const run of ['r_1', 'r_2', 'r_3']) {
    const seqs = all.filter((change) => change.run === run).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect(new Set(seqs).size).toBe(seqs.length);
  }
});

test('changes of another process arrive, and `now` leaves out what was before', async () => {
  const db = database();
  const [here, there] = [engineAt(db), engineAt(db)];
  await finish(there, 'r_old');
  const feed = here.feed({ after: 'now' })[Symbol.asyncIterator]();
  const first = feed.next();
  await here.list();
  await finish(there, 'r_new');
  expect((await first).value).toMatchObject({ run: 'r_new', tenant: null });
  const more = await until({ [Symbol.asyncIterator]: () => feed }, 'r_new', 'completed');
  expect(more.every(({ run }) => run === 'r_new')).toBe(true);
});

test('a reader that reads nothing holds at most a page, and reads on where it was', async () => {
  const pages: number[] = [];
  const store = openMemory();
  const counted = {
    ...store,
    journal: {
      ...store.journal,
      changes: async (...given: Parameters<typeof store.journal.changes>) => {
        const page = await store.journal.changes(...given);
        pages.push(page.items.length);
        return page;
      },
    },
  };
  const engine = engineAt(counted);
  await finish(engine, 'r_0');
  const feed = engine.feed()[Symbol.asyncIterator]();
  const read = [(await feed.next()).value as Change];
  const asked = pages.length;
  for (let number = 1; number <= 20; number += 1) await finish(engine, `r_${number}`);
  expect(pages.length).toBe(asked);
  read.push(...(await until({ [Symbol.asyncIterator]: () => feed }, 'r_20', 'completed')));
  expect(new Set(read.map(({ run }) => run)).size).toBe(21);
  expect(new Set(read.map(({ cursor }) => cursor)).size).toBe(read.length);
});

test('the signal ends a reader that waits, and so does closing the engine', async () => {
  const engine = engineAt(openMemory());
  const stop = new AbortController();
  const waiting = engine.feed({ signal: stop.signal })[Symbol.asyncIterator]().next();
  stop.abort();
  expect((await waiting).done).toBe(true);
  const other = engine.feed()[Symbol.asyncIterator]().next();
  await engine.close();
  expect((await other).done).toBe(true);
});

test('a caller sees the changes of its tenant, also behind pages of others', async () => {
  const store = openMemory();
  const engine = engineAt(store);
  const [acme, globex] = ['acme', 'globex'].map((tenant) => engine.as({ tenant, access: ['admin'] }));
  for (let number = 0; number < 600; number += 1) await globex?.run(FLOW, {}, { id: `g_${number}` });
  await acme?.run(FLOW, {}, { id: 'a_1' });
  const feed = acme?.feed() ?? engine.feed();
  expect(new Set((await until(feed, 'a_1', 'suspended')).map(({ run }) => run))).toEqual(new Set(['a_1']));
  const own = engineAt(store, { tenant: 'acme' });
  expect(new Set((await until(own.feed(), 'a_1', 'suspended')).map(({ run }) => run))).toEqual(new Set(['a_1']));
});

test('a cursor that is none is refused', async () => {
  const engine = engineAt(openMemory());
  expect(await refusedWith(engine.feed({ after: '12' })[Symbol.asyncIterator]().next())).toBe('bad-cursor');
});
