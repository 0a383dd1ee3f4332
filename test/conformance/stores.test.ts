/**
 * Every golden trajectory and every example has the same journal on memory, SQLite and Postgres. Times, and the id of the store with the
 * idempotency keys that follow from it, are the only things that may differ. The cases share a store of each kind, as runs do in use.
 * SEED draws a part of the cases; `npm run conformance` plays all of them.
 */
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Answer, CompiledFlow } from '@sluice-internal/kernel/ir';
import { openMemory } from '@sluice-internal/engine/memory';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { ChainedEvent, MemoryStore, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { isMemoryCheck, memoryPerformer, policyPerformer } from '@sluice-internal/guard/policy';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import { compile } from '@sluice-internal/notations/driver';
import { createMemoryStore, openSqlite } from '@sluice-internal/store-sqlite';
import { openPostgres } from '@sluice-internal/store-postgres';
import type { PostgresStore } from '@sluice-internal/store-postgres';
import { compileCase } from '../dialects/run-case.ts';
import { playOn } from '../support/harness.ts';
import type { Played } from '../support/harness.ts';
import { freshSchema, sharedPostgres } from '../support/postgres.ts';
import { freshPaths } from '../../packages/store-sqlite/test/journals/place.ts';

interface Case {
  readonly name: string;
  readonly flow: CompiledFlow;
  readonly script: Script;
  readonly input: Json;
  readonly answers: readonly (Omit<Answer, 'by'> & { readonly node: string })[];
  readonly cancel: boolean;
}

const seed = process.env['SEED'] ?? String(Date.now() % 1_000_000_000);
/** Of each kind. */
const CASES = Number(process.env['SLUICE_CASES'] ?? 16);
const AT_ONCE = 16;
const START = Date.UTC(2026, 0, 1);
const dialects = new URL('../dialects/', import.meta.url);
const examples = new URL('../../examples/', import.meta.url);
const freshPath = freshPaths();

/** A part of a second for a case, and minutes on a machine that does other things. */
const TIMEOUT_MS = 600_000;

describe(`one journal on every store, seed ${seed}`, { timeout: TIMEOUT_MS }, () => {
  let postgres: PostgresStore;
  let sqlite: Store;
  beforeAll(async () => {
    postgres = openPostgres((await sharedPostgres())(freshSchema()));
    await postgres.ready?.();
    sqlite = openSqlite(freshPath());
  });
  afterAll(async () => {
    await postgres.close();
    await sqlite.close();
  });

  for (const notation of ['flow', 'steps', 'loop', 'staged'])
    test(`golden trajectories of ${notation}`, async () => {
      await compareAll(goldenOf(notation), { sqlite, postgres });
    });

  test('examples', async () => {
    await compareAll(exampleCases(), { sqlite, postgres });
  });

  test('the chains of heads of both databases hold after all of them', async () => {
    expect(await sqlite.journal.broken?.()).toBeNull();
    expect(await postgres.journal.broken?.()).toBeNull();
  });
});

async function playAlone(each: Case, kind: string): Promise<Played> {
  const store = kind === 'sqlite' ? openSqlite(freshPath()) : openPostgres((await sharedPostgres())(freshSchema()));
  await store.ready?.();
  return play(each, store, createMemoryStore());
}

/** The first place where two journals differ, with what is around it. */
function difference(expected: string, found: string): string | null {
  if (expected === found) return null;
  let at = 0;
  while (expected[at] === found[at]) at += 1;
  const [from, to] = [Math.max(0, at - 80), at + 80];
  return `${found.slice(from, to)} instead of ${expected.slice(from, to)}`;
}

interface Stores {
  readonly sqlite: Store;
  readonly postgres: PostgresStore;
}

async function compareAll(cases: readonly Case[], { sqlite, postgres }: Stores): Promise<void> {
  expect(cases.length).toBeGreaterThan(4);
  const waiting = drawn(cases).values();
  const differing: string[] = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const each of waiting) {
        const expected = journalOf(await play(each, openMemory(), createMemoryStore()));
        const memories = [createMemoryStore(), createMemoryStore()] as const;
        const others = {
          sqlite: play(each, sharing(sqlite), memories[0]),
          postgres: play(each, sharing(postgres), memories[1]),
        };
        for (const [kind, played] of Object.entries(others)) {
          const shared = difference(expected, journalOf(await played));
          // A case that opens a circuit breaker, or meets an open one, sees the other runs of the database.
          const found = shared === null ? null : difference(expected, journalOf(await playAlone(each, kind)));
          if (found !== null) differing.push(`${each.name} on ${kind}: ${found}`);
        }
      }
    }),
  );
  expect(differing).toEqual([]);
}

/** Other seeds draw other cases, and a seed draws the same ones on every machine. */
function drawn(cases: readonly Case[]): readonly Case[] {
  const place = new Map(cases.map((each) => [each, hash('sha256', `${seed} ${each.name}`, 'hex')]));
  return cases.toSorted((a, b) => ((place.get(a) ?? '') < (place.get(b) ?? '') ? -1 : 1)).slice(0, CASES);
}

/** Closing the engine of a case must not close the store of all. */
function sharing(store: Store): Store {
  const { id: _, ...rest } = Object.getOwnPropertyDescriptors(store);
  return Object.defineProperties({ id: store.id }, { ...rest, close: { value: async () => undefined } }) as Store;
}

async function play(
  { name, flow, script, input, answers, cancel }: Case,
  store: Store,
  memory: MemoryStore,
): Promise<Played> {
  const remembering = memoryPerformer(memory);
  const policy = policyPerformer();
  const performer = scriptedPerformer(script, {
    perform: (call) => (isMemoryCheck(call.command) ? remembering : policy).perform(call),
  });
  const engine = createRuntime({ store, clock: createVirtualClock(START), pickUp: false, performer });
  return playOn(engine, flow, {
    input,
    seed: 1,
    answers,
    cancel,
    run: `r_${hash('sha256', name, 'hex').slice(0, 16)}`,
  } as never);
}

/**
 * Without times and hashes, thread by thread: which of two branches that work at once is stored first depends on the speed of a commit.
 * Ids of memory entries and keys follow from the run, which has the same name everywhere.
 */
function journalOf({ events, report }: Played): string {
  const threads = new Map<string, object[]>();
  for (const { at: _, prev: __, hash: ___, seq: ____, ...event } of events as readonly (ChainedEvent & Placed)[]) {
    const thread = event.thread ?? event.key?.split('#')[0] ?? '';
    threads.set(thread, [...(threads.get(thread) ?? []), event]);
  }
  const { state, code, output } = report;
  const sorted = [...threads].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([sorted, { state, code, output: output ?? null }], (key, value: unknown) =>
    key === 'store' ? undefined : value,
  );
}
interface Placed {
  readonly thread?: string;
  readonly key?: string;
}

function goldenOf(notation: string): readonly Case[] {
  const root = new URL(`${notation}/`, dialects);
  return readdirSync(root).flatMap((name): readonly Case[] => {
    const folder = new URL(`${name}/`, root);
    const expected = (parse(read(folder, 'expected.yaml')) ?? {}) as Partial<Case> & { readonly diagnostics?: unknown };
    if (expected.diagnostics !== undefined) return [];
    const { flow } = compileCase(folder);
    if (flow === undefined) return [];
    const script = (existsSync(new URL('script.yaml', folder)) ? parse(read(folder, 'script.yaml')) : {}) as Script;
    const { input = 'hello', answers = [], cancel = false } = expected;
    return [{ name: `${notation}/${name}`, flow, script, input, answers, cancel }];
  });
}

const KINDS = /\.(flow|workflow|loop|staged|team)\.yaml$/;

/** The examples that run under a script alone: without tools of a module and without a folder. */
function exampleCases(): readonly Case[] {
  return readdirSync(examples).flatMap((name): readonly Case[] => {
    const script = name.replace(KINDS, '.script.yaml');
    if (!KINDS.test(name) || !existsSync(new URL(script, examples))) return [];
    const text = read(examples, name);
    const { flow } = compile(text, { file: name, hash: (each) => hash('sha256', each, 'hex') });
    if (flow === undefined) return [];
    const [, quoted, plain] = /--input (?:'([^']*)'|"([^"]*)")/.exec(text) ?? [];
    const given = quoted ?? plain ?? 'a question';
    const input = given.startsWith('{') && /^flow:/m.test(text) ? (JSON.parse(given) as Json) : given;
    return [{ name, flow, script: parse(read(examples, script)) as Script, input, answers: [], cancel: false }];
  });
}

function read(folder: URL, name: string): string {
  return readFileSync(new URL(name, folder), 'utf8');
}
