/**
 * Mastra workflows on libSQL. The store sets `synchronous = NORMAL`, so the connection is set to FULL after it has
 * opened; the store's own connection is used, because a pragma holds for one connection only.
 */
import { createClient } from '@libsql/client';
import { Mastra } from '@mastra/core';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { LibSQLStore } from '@mastra/libsql';
import { join } from 'node:path';
import { z } from 'zod';
import { bytesOnDisk, withDir } from '../disk.ts';
import { liveHeap, metered, payload, timed } from '../gauge.ts';
import { RESULT_BYTES } from '../shape.ts';
import type { Contestant, Measurement, Point } from '../shape.ts';
import { versionOf } from './version.ts';

const RESULT = payload(RESULT_BYTES);
const PAUSED_RUNS = 1_000;
const HISTORY_SIZES = [50, 100, 200, 400];

export const mastra: Contestant = {
  name: 'mastra',
  version: ['@mastra/core', '@mastra/libsql', '@libsql/client'].map(versionOf).join(', '),
  shapes: {
    'chain-100': () => timing(chain(100)),
    'loop-1000': () => timing(loop(1_000)),
    'fanout-1000': () => timing(fanout(1_000)),
    'runs-1000x10': () => timing(chain(10), 1_000),
    'paused-10000': paused,
    'state-1mb-100': state,
    'history-n': history,
  },
  missing: {
    'resume-10000': 'building the history takes minutes',
    'resume-snapshot': 'it has no other way to resume',
    'compile-2000': 'workflows are built in code',
  },
  notes: {
    'paused-10000': `with ${PAUSED_RUNS} runs`,
    'history-n': `a chain of steps that append to the state, with ${HISTORY_SIZES.join(', ')} messages`,
  },
};

const text = z.object({ text: z.string() });
const carried = z.object({ blob: z.string(), messages: z.array(z.string()) });

/** The builder's types change with every step added; only what the measurements call is of interest here. */
interface Workflow {
  then: (step: unknown) => Workflow;
  commit: () => Workflow;
  createRun: (options: { runId: string }) => Promise<Run>;
}

interface Run {
  start: (options: { inputData: unknown; initialState?: unknown }) => Promise<{ status: string }>;
}

function workflow(id: string): Workflow {
  const built = createWorkflow({ id, inputSchema: z.any(), outputSchema: z.any(), stateSchema: carried });
  return built as unknown as Workflow;
}

function chain(length: number, append = false): Workflow {
  const steps = Array.from({ length }, (_, index) =>
    createStep({
      id: `step-${index}`,
      inputSchema: z.any(),
      outputSchema: text,
      stateSchema: carried,
      execute: async ({ state, setState }) => {
        if (append) await setState({ ...state, messages: [...state.messages, RESULT] });
        return { text: append ? '' : RESULT };
      },
    }),
  );
  return steps.reduce((built, step) => built.then(step), workflow(`chain-${length}`)).commit();
}

function loop(rounds: number): Workflow {
  const body = createStep({
    id: 'body',
    inputSchema: z.object({ count: z.number() }),
    outputSchema: z.object({ count: z.number(), text: z.string() }),
    execute: async ({ inputData }) => ({ count: inputData.count + 1, text: RESULT }),
  });
  const built = createWorkflow({ id: 'loop', inputSchema: z.object({ count: z.number() }), outputSchema: z.any() })
    .dountil(body, async ({ inputData }) => inputData.count >= rounds)
    .commit();
  return built as unknown as Workflow;
}

function fanout(width: number): Workflow {
  const branch = createStep({
    id: 'branch',
    inputSchema: z.number(),
    outputSchema: text,
    execute: async () => ({ text: RESULT }),
  });
  const list = createStep({
    id: 'list',
    inputSchema: z.any(),
    outputSchema: z.array(z.number()),
    execute: async () => Array.from({ length: width }, (_, index) => index),
  });
  const join = createStep({
    id: 'join',
    inputSchema: z.array(text),
    outputSchema: z.number(),
    execute: async ({ inputData }) => inputData.length,
  });
  const built = createWorkflow({ id: 'fanout', inputSchema: z.any(), outputSchema: z.number() })
    .then(list)
    .foreach(branch, { concurrency: width })
    .then(join)
    .commit();
  return built as unknown as Workflow;
}

function approval(): Workflow {
  const draft = createStep({
    id: 'draft',
    inputSchema: z.any(),
    outputSchema: text,
    execute: async () => ({ text: RESULT }),
  });
  const gate = createStep({
    id: 'gate',
    inputSchema: text,
    outputSchema: text,
    resumeSchema: text,
    execute: async ({ resumeData, suspend }) => resumeData ?? (await suspend({ question: 'approve?' })),
  });
  return workflow('approval').then(draft).then(gate).commit();
}

interface Session {
  run: (id: string, state?: z.infer<typeof carried>) => Promise<void>;
  checkpoint: () => Promise<void>;
  close: () => Promise<void>;
}

async function open(dir: string, flow: Workflow, expected = 'success'): Promise<Session> {
  const client = createClient({ url: `file:${join(dir, 'mastra.db')}` });
  const storage = new LibSQLStore({ id: 'bench', client });
  await storage.init();
  await client.execute('PRAGMA journal_mode = WAL');
  const engine = new Mastra({ storage, logger: false, workflows: { flow: flow as never } });
  const bound = engine.getWorkflow('flow') as unknown as Workflow;
  // The workflow store sets its pragmas when it is first used.
  await bound.createRun({ runId: 'first' });
  await client.execute('PRAGMA synchronous = FULL');
  return {
    run: async (runId, state = { blob: '', messages: [] }) => {
      const run = await bound.createRun({ runId });
      const { status } = await run.start({ inputData: { count: 0 }, initialState: state });
      if (status !== expected) throw new Error(`a run ended as ${status}`);
    },
    checkpoint: async () => {
      await client.execute('PRAGMA wal_checkpoint(TRUNCATE)');
    },
    close: async () => {
      const { rows } = await client.execute('PRAGMA synchronous');
      if (rows[0]?.['synchronous'] !== 2) throw new Error('the store no longer waits for the disk');
      await storage.close();
    },
  };
}

function timing(flow: Workflow, runs = 1): Promise<Measurement> {
  return withDir('mastra', async (dir) => {
    const session = await open(dir, flow);
    const ids = Array.from({ length: runs }, (_, index) => `run-${index}`);
    const ms = await timed(() => Promise.all(ids.map((id) => session.run(id))));
    await session.close();
    return { ms };
  });
}

function paused(): Promise<Measurement> {
  return withDir('mastra', async (dir) => {
    const session = await open(dir, approval(), 'suspended');
    await session.run('warm-up');
    await session.checkpoint();
    const heap = await liveHeap();
    const disk = bytesOnDisk(dir);
    for (let run = 0; run < PAUSED_RUNS; run += 1) await session.run(`run-${run}`);
    const grown = Math.max(0, (await liveHeap()) - heap);
    await session.close();
    return { bytesMemory: grown / PAUSED_RUNS, bytesDisk: (bytesOnDisk(dir) - disk) / PAUSED_RUNS };
  });
}

async function state(): Promise<Measurement> {
  const { bytes } = await metering(chain(100), { blob: payload(1_000_000), messages: [] });
  return bytes === undefined ? {} : { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) points.push({ n, ...(await metering(chain(n, true), { blob: '', messages: [] })) });
  return { points };
}

function metering(flow: Workflow, carry: z.infer<typeof carried>): Promise<{ ms: number; bytes?: number }> {
  return withDir('mastra', async (dir) => {
    const session = await open(dir, flow);
    return metered(async () => {
      await session.run('run', carry);
      await session.close();
    });
  });
}
