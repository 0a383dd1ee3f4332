/**
 * Many runs that wait for people: `node bench/waiting.ts [--sizes 1000,10000] [--rounds 15]`. Prints the time of a page of the list, of a
 * page of the inbox and of an answer, each in a fresh engine, and how they grow: an exponent of 0 is no growth, 1 is growth with
 * the number of runs. Ends with 1 if an exponent is above 0.2.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, createEngine } from '../packages/library/src/index.ts';
import type { CompiledFlow, Engine } from '../packages/library/src/index.ts';
import { exponent, median } from './stats.ts';

const EXPONENT_MAX = 0.2;
const BATCH = 500;

const FLOW = compile({
  flow: {
    id: 'waits',
    entry: 'gate',
    nodes: [
      { id: 'gate', type: 'approval', message: 'Send it?', routes: [{ to: 'done' }] },
      { id: 'done', type: 'terminal', output: 'sent' },
    ],
  },
}).flow as CompiledFlow;

const WORK: { readonly [name: string]: (engine: Engine) => Promise<unknown> } = {
  list: (engine) => engine.list({ status: ['suspended'], limit: 50 }),
  inbox: (engine) => engine.approvals({ limit: 50 }),
  answer: async (engine) => {
    const [question] = (await engine.approvals({ limit: 1 })).items;
    if (question === undefined) throw new Error('nothing waits');
    await engine.answer(question.id, { choice: 'approve', by: 'ann' });
    await engine.wait(question.run);
  },
};

async function fill(journal: string, size: number): Promise<void> {
  await using engine = createEngine({ journal });
  for (let begun = 0; begun < size; begun += BATCH) {
    const runs = await Promise.all(Array.from({ length: Math.min(BATCH, size - begun) }, () => engine.start(FLOW)));
    await Promise.all(runs.map((run) => engine.wait(run)));
  }
}

async function measure(journal: string, rounds: number): Promise<{ readonly [name: string]: number }> {
  const times = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, work] of Object.entries(WORK)) {
      await using engine = createEngine({ journal, pickUp: false });
      const from = performance.now();
      await work(engine);
      // The first round loads code and fills caches of the file system.
      if (round > 0) times.set(name, [...(times.get(name) ?? []), performance.now() - from]);
    }
  return Object.fromEntries([...times].map(([name, list]) => [name, median(list)]));
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { sizes: { type: 'string', default: '1000,10000' }, rounds: { type: 'string', default: '15' } },
  });
  const sizes = values.sizes.split(',').map(Number);
  const dir = mkdtempSync(join(tmpdir(), 'sluice-waiting-'));
  try {
    const rows: { readonly size: number; readonly times: { readonly [name: string]: number } }[] = [];
    for (const size of sizes) {
      const journal = join(dir, `${size}.db`);
      await fill(journal, size);
      rows.push({ size, times: await measure(journal, Number(values.rounds)) });
    }
    return print(rows);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function print(
  rows: readonly { readonly size: number; readonly times: { readonly [name: string]: number } }[],
): number {
  process.stdout.write(`runs that wait: ${rows.map(({ size }) => size).join(', ')}\n`);
  let isWorse = false;
  for (const name of Object.keys(WORK)) {
    const shown = rows.map(({ times }) => `${(times[name] ?? 0).toFixed(1)} ms`).join(', ');
    const growth = exponent(rows.map(({ size, times }) => [size, times[name] ?? 0] as const));
    isWorse ||= growth > EXPONENT_MAX;
    process.stdout.write(`${name}: ${shown}; exponent ${growth.toFixed(2)}\n`);
  }
  return isWorse ? 1 : 0;
}

process.exitCode = await main();
