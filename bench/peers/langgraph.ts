/**
 * LangGraph.js with its SQLite saver. `durability: 'sync'` makes a checkpoint part of each step, and the connection is
 * set to `synchronous = FULL`, because better-sqlite3 is built with NORMAL for WAL databases. package.json overrides
 * better-sqlite3 with 13, because the 12 that the saver asks for aborts in garbage collections on Node 24.19 and later.
 */
import { Annotation, END, interrupt, Send, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { join } from 'node:path';
import { bytesOnDisk, withDir } from '../disk.ts';
import { liveHeap, metered, payload, timed } from '../gauge.ts';
import { RESULT_BYTES } from '../shape.ts';
import type { Contestant, Measurement, Point } from '../shape.ts';
import { versionOf } from './version.ts';

const RESULT = payload(RESULT_BYTES);
const PAUSED_RUNS = 1_000;
const HISTORY_SIZES = [100, 200, 400, 800];

export const langgraph: Contestant = {
  name: 'langgraph',
  version: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite', 'better-sqlite3']
    .map(versionOf)
    .join(', '),
  shapes: {
    'chain-100': () => timing((saver) => invoke(chain(100, saver), {}, 'chain')),
    'loop-1000': () => timing((saver) => invoke(loop(1_000, saver), {}, 'loop')),
    'fanout-1000': () => timing((saver) => invoke(fanout(1_000, saver), {}, 'fanout')),
    'runs-1000x10': () =>
      timing((saver) => {
        const graph = chain(10, saver);
        return Promise.all(Array.from({ length: 1_000 }, (_, run) => invoke(graph, {}, `run-${run}`)));
      }),
    'paused-10000': paused,
    'state-1mb-100': state,
    'history-n': history,
  },
  missing: {
    'resume-10000': 'building the history takes minutes',
    'resume-snapshot': 'it has no other way to resume',
    'compile-2000': 'graphs are built in code',
  },
  notes: {
    'paused-10000': `with ${PAUSED_RUNS} runs`,
    'history-n': `with ${HISTORY_SIZES.join(', ')} messages`,
  },
};

const State = Annotation.Root({
  last: Annotation<string>,
  count: Annotation<number>({ reducer: (sum, more) => sum + more, default: () => 0 }),
  blob: Annotation<string>,
  messages: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
});

type Values = Partial<typeof State.State>;

interface Graph {
  invoke: (
    input: Values,
    options: { configurable: { thread_id: string }; durability: 'sync'; recursionLimit: number },
  ) => Promise<unknown>;
}

function invoke(graph: Graph, input: Values, thread: string): Promise<unknown> {
  return graph.invoke(input, { configurable: { thread_id: thread }, durability: 'sync', recursionLimit: 100_000 });
}

function chain(length: number, checkpointer: SqliteSaver): Graph {
  const graph = new StateGraph(State);
  const names = Array.from({ length }, (_, index) => `step-${index}`);
  const wide = names.reduce((built, name) => built.addNode(name, () => ({ last: RESULT })) as never, graph) as Edges;
  names.forEach((name, index) => wide.addEdge(index === 0 ? START : `step-${index - 1}`, name));
  wide.addEdge(`step-${length - 1}`, END);
  return wide.compile({ checkpointer });
}

/** Node names are computed here, so the builder's types, which collect literal names, are of no use. */
interface Edges {
  addEdge: (from: string, to: string) => unknown;
  compile: (options: { checkpointer: SqliteSaver }) => Graph;
}

function loop(rounds: number, checkpointer: SqliteSaver, update: () => Values = () => ({ last: RESULT })): Graph {
  return new StateGraph(State)
    .addNode('body', () => ({ ...update(), count: 1 }))
    .addEdge(START, 'body')
    .addConditionalEdges('body', ({ count }) => (count < rounds ? 'body' : END), ['body', END])
    .compile({ checkpointer });
}

function fanout(width: number, checkpointer: SqliteSaver): Graph {
  return new StateGraph(State)
    .addNode('branch', () => ({ messages: [RESULT] }))
    .addNode('join', () => ({ last: RESULT }))
    .addConditionalEdges(START, () => Array.from({ length: width }, () => new Send('branch', {})), ['branch'])
    .addEdge('branch', 'join')
    .addEdge('join', END)
    .compile({ checkpointer });
}

function approval(checkpointer: SqliteSaver): Graph {
  return new StateGraph(State)
    .addNode('draft', () => ({ last: RESULT }))
    .addNode('gate', () => ({ last: String(interrupt('approve?')) }))
    .addEdge(START, 'draft')
    .addEdge('draft', 'gate')
    .addEdge('gate', END)
    .compile({ checkpointer });
}

function open(dir: string): SqliteSaver {
  const saver = SqliteSaver.fromConnString(join(dir, 'langgraph.db'));
  saver.db.pragma('journal_mode = WAL');
  saver.db.pragma('synchronous = FULL');
  return saver;
}

function timing(work: (saver: SqliteSaver) => Promise<unknown>): Promise<Measurement> {
  return withDir('langgraph', async (dir) => {
    const saver = open(dir);
    const ms = await timed(() => work(saver));
    saver.db.close();
    return { ms };
  });
}

function paused(): Promise<Measurement> {
  return withDir('langgraph', async (dir) => {
    const before = await liveHeap();
    const saver = open(dir);
    const graph = approval(saver);
    for (let run = 0; run < PAUSED_RUNS; run += 1) await invoke(graph, {}, `run-${run}`);
    const after = await liveHeap();
    saver.db.close();
    return { bytesMemory: Math.max(0, after - before) / PAUSED_RUNS, bytesDisk: bytesOnDisk(dir) / PAUSED_RUNS };
  });
}

async function state(): Promise<Measurement> {
  const { bytes } = await session((saver) => invoke(chain(100, saver), { blob: payload(1_000_000) }, 'state'));
  return bytes === undefined ? {} : { bytesWritten: bytes };
}

async function history(): Promise<Measurement> {
  const points: Point[] = [];
  for (const n of HISTORY_SIZES) {
    const talk = (saver: SqliteSaver): Graph => loop(n, saver, () => ({ messages: [RESULT] }));
    points.push({ n, ...(await session((saver) => invoke(talk(saver), {}, 'history'))) });
  }
  return { points };
}

function session(work: (saver: SqliteSaver) => Promise<unknown>): Promise<{ ms: number; bytes?: number }> {
  return withDir('langgraph', (dir) =>
    metered(async () => {
      const saver = open(dir);
      await work(saver);
      saver.db.close();
    }),
  );
}
