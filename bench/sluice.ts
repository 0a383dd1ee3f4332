/** Sluice as a contestant: each shape is a flow run by the engine on its SQLite journal. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';
import { bytesOnDisk, withDir } from './disk.ts';
import { liveHeap, metered, payload, timed } from './gauge.ts';
import { COMPILE_SIZES, HISTORY_SIZES, RESULT_BYTES, RESUME_SIZES } from './shape.ts';
import type { Contestant, Measurement, Point } from './shape.ts';
import { chain, conversation, fanOut, flowDocument, gate, loop } from './sluice-flows.ts';

const manifest = createRequire(import.meta.url)('../package.json') as { version: string };
const REPLY = payload(RESULT_BYTES);
const PAUSED_RUNS = 10_000;

export const sluice: Contestant = {
  name: 'sluice',
  version: manifest.version,
  shapes: {
    'chain-100': () => running(once(chain, 100)),
    'loop-1000': () => running(once(loop, 1_000)),
    'fanout-1000': () => running(once(fanOut, 1_000)),
    'runs-1000x10': () => running(once(chain, 10), 1_000),
    'paused-10000': paused,
    'resume-10000': () => resuming(10_000, 0),
    'resume-snapshot': resumeSnapshot,
    'state-1mb-100': state,
    'history-n': history,
    'compile-2000': compiling,
  },
  notes: {
    'paused-10000': 'memory is the live heap after a collection with all runs waiting; disk is the closed database',
    'resume-10000': 'from opening the database to the first new step, without a snapshot',
  },
};

function open(dir: string, snapshotEvery = 500): Engine {
  return createEngine({ journal: join(dir, 'sluice.db'), model: () => REPLY, pickUp: false, snapshotEvery });
}

/** Compiled once for all rounds, so that what compiling leaves behind is not swept up while something else is timed. */
function once(make: (size: number) => CompiledFlow, size: number): CompiledFlow {
  const id = `${make.name} ${size}`;
  const flow = flows.get(id) ?? make(size);
  flows.set(id, flow);
  return flow;
}
const flows = new Map<string, CompiledFlow>();

function running(flow: CompiledFlow, runs = 1): Promise<Measurement> {
  return withDir('sluice', async (dir) => {
    const engine = open(dir);
    // The graph is stored with its first run; what is timed is running it.
    await engine.wait(await engine.start(flow, { input: 'go' }));
    const ms = await timed(async () => {
      const ids = await Promise.all(Array.from({ length: runs }, () => engine.start(flow, { input: 'go' })));
      await Promise.all(ids.map((id) => engine.wait(id)));
    });
    await engine.close();
    return { ms };
  });
}

function paused(): Promise<Measurement> {
  return withDir('sluice', async (dir) => {
    const engine = open(dir);
    const flow = gate();
    await engine.list();
    const before = await liveHeap();
    for (let batch = 0; batch < PAUSED_RUNS; batch += 1_000) {
      const ids = await Promise.all(Array.from({ length: 1_000 }, () => engine.start(flow, { input: 'go' })));
      await Promise.all(ids.map((id) => engine.wait(id)));
    }
    const after = await liveHeap();
    await engine.close();
    return { bytesMemory: Math.max(0, after - before) / PAUSED_RUNS, bytesDisk: bytesOnDisk(dir) / PAUSED_RUNS };
  });
}

async function resumeSnapshot(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of RESUME_SIZES) points.push({ n, ...(await resuming(n, 500)) });
  return { points };
}

/** Stops a loop in the middle, after n steps, and times how long another engine takes to get its next step under way. */
function resuming(steps: number, snapshotEvery: number): Promise<Measurement> {
  return withDir('sluice', async (dir) => {
    const flow = loop(steps + 2);
    const journal = join(dir, 'sluice.db');
    let calls = 0;
    let reached: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (reached = resolve));
    const hang = new Promise<string>(() => undefined);
    const first = createEngine({
      journal,
      pickUp: false,
      snapshotEvery,
      model: () => (++calls > steps ? (reached(), hang) : REPLY),
    });
    const run = await first.start(flow, { input: 'go' });
    await arrived;
    await first.close();
    let second: Engine | undefined;
    const ms = await timed(async () => {
      const again = new Promise<void>((resolve) => {
        second = createEngine({ journal, pickUp: false, snapshotEvery, model: () => (resolve(), hang) });
      });
      await second?.resume(run);
      await again;
    });
    await second?.close();
    return { ms };
  });
}

async function state(): Promise<Measurement> {
  const flow = chain(100);
  const input = { message: 'go', document: payload(1_000_000) };
  const { bytes } = await session(flow, input);
  return bytes === undefined ? {} : { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) points.push({ n, ...(await session(conversation(n), 'go')) });
  return { points };
}

function session(
  flow: CompiledFlow,
  input: string | { [field: string]: string },
): Promise<{ ms: number; bytes?: number }> {
  return withDir('sluice', (dir) =>
    metered(async () => {
      const engine = open(dir);
      const run = await engine.start(flow, { input });
      await engine.wait(run);
      await engine.close();
    }),
  );
}

async function compiling(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of COMPILE_SIZES) {
    const document = flowDocument(n);
    points.push({ n, ms: await timed(() => compile(document)) });
  }
  return { points };
}
