/** Runs a flow through the engine on a virtual clock, and reads from its journal what the interpreter has to agree with. */
import { openMemory } from '@sluice-internal/engine/memory';
import type { CompiledFlow, Event, Node, RunState } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { replay } from '@sluice-internal/engine/audit';
import { createVirtualClock, pure } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { readRun } from '@sluice-internal/engine/journal';
import { interpret } from '../../spec/interpreter.ts';
import type { Meaning } from '../../spec/interpreter.ts';
import type { Question, RandomWorld } from './world.ts';

export interface Ran {
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly performed: readonly Question[];
  readonly agrees: boolean;
}

/** Runs a flow through the engine and through the reference interpreter, in the same world. */
export async function runBoth(
  flow: CompiledFlow,
  input: Json,
  world: RandomWorld,
  seed: number,
): Promise<{ readonly ran: Ran; readonly meaning: Meaning }> {
  const ran = await runEngine(flow, input, world, seed);
  const joins = joinsOf(flow, ran.events);
  const meaning = interpret(flow, input, {
    answer: world.answer,
    joined: (fork) => joins.get(fork),
    validate: pure.validate,
    countTokens: pure.countTokens,
  });
  return { ran, meaning };
}

async function runEngine(flow: CompiledFlow, input: Json, world: RandomWorld, seed: number): Promise<Ran> {
  const store = openMemory();
  const performed: Question[] = [];
  const engine = createRuntime({
    store,
    performer: performerOf(world, performed),
    clock: createVirtualClock(1_000_000),
    pickUp: false,
  });
  try {
    const run = await engine.start(flow, { run: 'r', input, seed });
    await engine.settled(run);
    const { state, events } = await readRun(store.journal, run);
    // It also verifies the chain, and rejects if that is broken.
    const { agrees } = await replay(store.journal, run);
    return { state, events, performed, agrees };
  } finally {
    await engine.close();
  }
}

function performerOf(world: RandomWorld, performed: Question[]): Performer {
  return {
    perform: async (call) => {
      const { command, clock } = call;
      performed.push(command);
      const answer = world.answer(command);
      if (answer === null) return never(call);
      await clock.sleep(world.latencyMs(command), call.signal);
      return answer;
    },
    // `a_r.` comes before the key.
    answer: ({ question }) => world.person(question.id.slice(4)),
    signal: ({ key, signal }) => {
      const data = world.sent(key, signal);
      return data === undefined ? null : { data };
    },
  };
}

function never({ signal }: Call): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('given up')), { once: true });
  });
}

export interface Asked {
  readonly thread: string;
  readonly key: string;
  readonly attempt: number;
  readonly name: string;
  readonly node: string;
}

/** Every attempt in the order of its request. */
export function askedBy(events: readonly Event[]): Asked[] {
  const asked: Asked[] = [];
  const latest = new Map<string, Asked>();
  const add = (each: Asked): void => {
    asked.push(each);
    latest.set(each.key, each);
  };
  for (const event of events) {
    if (event.type === 'effect.requested')
      add({ thread: event.thread, key: event.key, attempt: 1, name: event.name, node: event.node });
    if (event.type === 'undo.requested')
      add({
        thread: event.thread,
        key: event.key,
        attempt: 1,
        name: event.tool,
        node: latest.get(event.undoes)?.node ?? '',
      });
    if (event.type !== 'effect.judged' || event.verdict !== 'retry') continue;
    const before = latest.get(event.key) as Asked;
    add({ ...before, attempt: before.attempt + 1 });
  }
  return asked;
}

/** For each fork that may join early: which branches had ended, in order. */
function joinsOf(flow: CompiledFlow, events: readonly Event[]): Map<string, { ended: number[]; late: boolean }> {
  const joins = new Map<string, { ended: number[]; late: boolean }>();
  const open = new Map<string, { key: string; node: string; prefix: string; ended: number[] }>();
  for (const event of events) {
    if (event.type === 'thread.forked') {
      const { thread, key, node } = event;
      open.set(thread, { key, node, prefix: `${thread}:${key.slice(thread.length + 1)}.`, ended: [] });
    } else if (event.type === 'thread.ended') {
      for (const { prefix, ended } of open.values()) {
        const index = event.thread.startsWith(prefix) ? event.thread.slice(prefix.length) : '';
        if (/^\d+$/.test(index)) ended.push(Number(index));
      }
    } else if (event.type === 'fork.joined') {
      const { key, node, ended } = open.get(event.thread) as { key: string; node: string; ended: number[] };
      open.delete(event.thread);
      if (mayJoinEarly(flow.nodes[node]) || event.unstarted !== undefined)
        joins.set(key, { ended, late: event.why === 'late' });
    }
  }
  return joins;
}

function mayJoinEarly(node: Node | undefined): boolean {
  return (
    node?.op === 'fork' && (node.timeoutMs !== null || (node.widthMax !== 1 && (node.need !== 'all' || node.eager)))
  );
}
