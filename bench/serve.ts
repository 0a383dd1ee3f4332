/**
 * The server against the library, in one run: `npm run bench:serve -- [--rounds 7] [--visits 20000] [--readers 200]`. Prints
 * - the time of a run that is started and awaited over HTTP, as a multiple of the same run in the library,
 * - runs started over HTTP for each second, as a share of those that the library starts,
 * - the time in which readers that come back at the end of a long run read its end, all together, as a multiple of reading its journal once.
 * Ends with 1 if the last one is above its target.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { connect, type Client } from '../packages/client/src/index.ts';
import { compile, createEngine } from '../packages/library/src/index.ts';
import type { CompiledFlow } from '../packages/library/src/index.ts';
import { median } from './stats.ts';

const READ_AGAIN_MAX = 5;
const AT_ONCE = 32;

/** Ten steps without a model, so that nothing but the engine and the server is measured. */
const STEPS = Array.from(
  { length: 10 },
  (_, index) =>
    `    - { id: s${index}, type: set, values: { n: "{{${index}}}" }, routes: [{ to: ${index < 9 ? `s${index + 1}` : 'end'} }] }`,
).join('\n');
const SHORT = `flow:\n  id: short\n  entry: s0\n  nodes:\n${STEPS}\n`;
const longOf = (visits: number): string => `
flow:
  id: long
  entry: count
  max_iterations: ${visits}
  nodes:
    - { id: count, type: agent, agent: worker, routes: [{ when: "count.output != 'stop'", to: count }, { to: end }] }
agents: [{ id: worker, instructions: Count. }]
budgets: { steps: ${visits * 3}, model_calls: ${visits + 1} }
`;

interface Server {
  readonly sluice: Client;
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

async function served(folder: string): Promise<Server> {
  const program = join(import.meta.dirname, '../test/support/served.ts');
  const child = spawn(process.execPath, [program, folder, '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  const close = async (): Promise<void> => {
    child.stdin.end();
    await once(child, 'exit');
  };
  return { sluice: connect(url, { token }), url, token, close };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

type Side = { readonly whole: () => Promise<unknown>; readonly start: () => Promise<unknown> };

/** One run after the other, to its end. */
async function sequential({ whole }: Side, count: number): Promise<number> {
  return timed(async () => {
    for (let run = 0; run < count; run += 1) await whole();
  });
}

/** Runs that are started, and not waited for. */
async function atOnce({ start }: Side, count: number): Promise<number> {
  return timed(async () => {
    let left = count;
    const work = async (): Promise<void> => {
      while (left-- > 0) await start();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  });
}

async function comparedWithLibrary(folder: string, rounds: number): Promise<object> {
  const flow = compile(SHORT).flow as CompiledFlow;
  const server = await served(folder);
  await using engine = createEngine({ journal: join(folder, 'library.db') });
  const library: Side = {
    whole: async () => (await engine.run(flow, {})).result(),
    start: () => engine.start(flow, { input: {} }),
  };
  const short = server.sluice.flow('short');
  const http: Side = { whole: async () => (await short.start({})).result(), start: () => short.start({}) };
  const [overhead, rate, ms, perSecond]: number[][] = [[], [], [], []];
  for (let round = 0; round <= rounds; round += 1) {
    const [own, own32] = [await sequential(library, 100), await atOnce(library, 500)];
    const [over, over32] = [await sequential(http, 100), await atOnce(http, 500)];
    // The first round loads code.
    if (round === 0) continue;
    overhead?.push(over / own);
    rate?.push(own32 / over32);
    ms?.push((over - own) / 100);
    perSecond?.push(500 / (over32 / 1000));
  }
  await server.close();
  return {
    timeOfARun: Number(median(overhead ?? []).toFixed(2)),
    overheadMs: Number(median(ms ?? []).toFixed(2)),
    startedShare: Number(median(rate ?? []).toFixed(2)),
    startedPerSecond: Math.round(median(perSecond ?? [])),
  };
}

/** Runs long enough for many readers: the journal is read once by a fresh engine, then by all readers of a fresh server. */
async function comparedWithOneRead(folder: string, visits: number, readers: number, rounds: number): Promise<object> {
  const db = join(folder, '.sluice/sluice.db');
  const flow = compile(longOf(visits)).flow as CompiledFlow;
  const engine = createEngine({ journal: db, script: { agents: { worker: ['on'] } } });
  const run = await engine.start(flow, { input: {} });
  await engine.wait(run);
  const all: string[] = [];
  for await (const { id } of (await engine.open(run)).events()) all.push(id);
  await engine.close();
  const last = all.at(-3) ?? '';
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const once = await readOnce(db, run);
    const server = await served(folder);
    let events = 0;
    const ms = await timed(() =>
      Promise.all(
        Array.from({ length: readers }, async () => {
          for await (const _ of server.sluice.run(run).events({ after: last })) events += 1;
        }),
      ),
    );
    await server.close();
    if (events !== readers * 2) throw new Error(`${readers} readers got ${events} events`);
    ratios.push(ms / once);
    times.push(once);
  }
  return {
    ...{ visits, readers, events: all.length, readOnceMs: Math.round(median(times)) },
    readersToOneRead: Number(median(ratios).toFixed(2)),
  };
}

/** Every event of the journal, by an engine that has read nothing yet. */
async function readOnce(journal: string, run: string): Promise<number> {
  await using engine = createEngine({ journal, pickUp: false });
  return timed(async () => {
    for await (const _ of engine.events(run)) continue;
  });
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      visits: { type: 'string', default: '20000' },
      readers: { type: 'string', default: '200' },
    },
  });
  const [rounds, visits, readers] = [Number(values.rounds), Number(values.visits), Number(values.readers)];
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-serve-'));
  try {
    writeFileSync(join(folder, 'short.flow.yaml'), SHORT);
    const library = await comparedWithLibrary(folder, rounds);
    process.stdout.write(`${JSON.stringify(library)}\n`);
    const again = await comparedWithOneRead(folder, visits, readers, Math.min(rounds, 3));
    process.stdout.write(`${JSON.stringify(again)}\n`);
    return (again as { readonly readersToOneRead: number }).readersToOneRead <= READ_AGAIN_MAX ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
