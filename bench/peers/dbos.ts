/**
 * DBOS on a private PostgreSQL with its defaults (every commit waits for fsync). A step is a `DBOS.runStep`, whose
 * result is a row; skipped with a message where PostgreSQL is not installed.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bytesOnDisk } from '../disk.ts';
import { liveHeap, payload, timed } from '../gauge.ts';
import { RESULT_BYTES } from '../shape.ts';
import type { Contestant, Measurement, Point } from '../shape.ts';
import { findPostgres, startPostgres } from './postgres.ts';
import type { Postgres } from './postgres.ts';
import { versionOf } from './version.ts';

const RESULT = payload(RESULT_BYTES);
const PAUSED_RUNS = 1_000;
const PAUSE_SECONDS = 3_600;
const HISTORY_SIZES = [250, 500, 1_000, 2_000];

const bin = findPostgres();

export const dbos: Contestant = {
  name: 'dbos',
  version: `${versionOf('@dbos-inc/dbos-sdk')} on PostgreSQL from ${bin ?? 'nowhere'}`,
  shapes: {
    'chain-100': () => timing(() => chain(100)),
    'loop-1000': () => timing(() => loop(1_000)),
    'fanout-1000': () => timing(() => fanout(1_000)),
    'runs-1000x10': () => timing(() => Promise.all(Array.from({ length: 1_000 }, () => chain(10)))),
    'paused-10000': paused,
    'state-1mb-100': state,
    'history-n': history,
  },
  missing: {
    'resume-10000': 'building the history takes minutes',
    'resume-snapshot': 'it has no other way to resume',
    'compile-2000': 'workflows are code',
  },
  notes: {
    'paused-10000': `with ${PAUSED_RUNS} runs; memory is that of the worker, which keeps them`,
    'state-1mb-100': "the server's log, which compresses; tables follow later",
    'history-n': `with ${HISTORY_SIZES.join(', ')} messages as results of steps`,
  },
  ...(bin === undefined ? { unavailable: 'PostgreSQL is not installed here' } : {}),
  close: async () => {
    if (opened === undefined) return;
    const postgres = await opened;
    // Paused workflows never settle, so the engine is not asked to wait for them.
    await Promise.race([DBOS.shutdown(), setTimeout(2_000)]);
    await postgres.close();
  },
};

const step = (): Promise<string> => DBOS.runStep(async () => RESULT, { name: 'step' });

const chain = DBOS.registerWorkflow(
  async (length: number) => {
    let last = '';
    for (let index = 0; index < length; index += 1) last = await step();
    return last;
  },
  { name: 'chain' },
);

const loop = DBOS.registerWorkflow(
  async (rounds: number) => {
    let count = 0;
    for (;;) {
      const result = await step();
      count += 1;
      if (count >= rounds) return result;
    }
  },
  { name: 'loop' },
);

const fanout = DBOS.registerWorkflow(
  async (width: number) => (await Promise.all(Array.from({ length: width }, step))).length,
  { name: 'fanout' },
);

const carry = DBOS.registerWorkflow(
  async (blob: string, steps: number) => {
    for (let index = 0; index < steps; index += 1) await step();
    return blob.length;
  },
  { name: 'carry' },
);

let waiting = 0;

const pause = DBOS.registerWorkflow(
  async () => {
    await step();
    waiting += 1;
    return (await DBOS.recv<string>('answer', PAUSE_SECONDS)) ?? 'expired';
  },
  { name: 'pause' },
);

let opened: Promise<Postgres> | undefined;

function open(): Promise<Postgres> {
  opened ??= start();
  return opened;
}

async function start(): Promise<Postgres> {
  if (bin === undefined) throw new Error('PostgreSQL is not installed here');
  const postgres = await startPostgres(bin);
  const systemDatabaseUrl = postgres.url.replace(/postgres$/, 'dbos');
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl, logLevel: 'error', enableOTLP: false });
  await DBOS.launch();
  return postgres;
}

async function timing(work: () => Promise<unknown>): Promise<Measurement> {
  await open();
  return { ms: await timed(work) };
}

async function paused(): Promise<Measurement> {
  const postgres = await open();
  const tables = join(postgres.dir, 'base');
  postgres.checkpoint();
  const heap = await liveHeap();
  const disk = bytesOnDisk(tables);
  waiting = 0;
  for (let run = 0; run < PAUSED_RUNS; run += 1) await DBOS.startWorkflow(pause)();
  while (waiting < PAUSED_RUNS) await setTimeout(50);
  await setTimeout(500);
  const grown = Math.max(0, (await liveHeap()) - heap);
  postgres.checkpoint();
  return { bytesMemory: grown / PAUSED_RUNS, bytesDisk: (bytesOnDisk(tables) - disk) / PAUSED_RUNS };
}

async function state(): Promise<Measurement> {
  const { bytes } = await session((blob) => carry(blob, 100));
  return { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) points.push({ n, ...(await session(() => chain(n))) });
  return { points };
}

async function session(work: (blob: string) => Promise<unknown>): Promise<{ ms: number; bytes: number }> {
  const postgres = await open();
  const blob = payload(1_000_000);
  const before = postgres.bytesLogged();
  const ms = await timed(() => work(blob));
  return { ms, bytes: postgres.bytesLogged() - before };
}
