/**
 * Events for whoever listens: first what is stored, then what is committed, each exactly once and in order. Whoever asks for
 * it also hears models while they speak, beside the journal: that is passed on and kept nowhere.
 */
import type { Command, Event, RunId } from '../../ir/events.ts';
import type { Hearing } from './calls.ts';
import { linkEvents } from '../journal/chain.ts';
import type { ChainedEvent, Delta } from './types.ts';
import type { Journal } from '../ports.ts';
import { readRun } from '../journal/read.ts';

export interface Feed extends Hearing {
  publish(run: RunId, events: readonly Event[], previous: string, hash: string): void;
  end(run: RunId): void;
  close(): void;
  follow(
    journal: Journal,
    run: RunId,
    after: number,
    live: boolean,
    deltas: boolean,
  ): AsyncIterable<ChainedEvent | Delta>;
}

interface Listener {
  readonly queue: (ChainedEvent | Delta)[];
  /** Whether it hears models as well. */
  readonly deltas: boolean;
  ended: boolean;
  wake: () => void;
}

export function createFeed(): Feed {
  const listeners = new Map<RunId, Set<Listener>>();
  const end = (run: RunId): void => {
    for (const listener of listeners.get(run) ?? []) {
      listener.ended = true;
      listener.wake();
    }
  };
  return {
    publish: (run, events, previous, hash) => {
      const here = listeners.get(run);
      if (here === undefined) return;
      const linked = linkEvents(previous, events, hash);
      for (const listener of here) {
        listener.queue.push(...linked);
        listener.wake();
      }
    },
    listens: (run) => [...(listeners.get(run) ?? [])].some(({ deltas }) => deltas),
    say: (command, text) => {
      for (const listener of listeners.get(command.run) ?? []) {
        if (!listener.deltas) continue;
        addDelta(listener.queue, command, text);
        listener.wake();
      }
    },
    end,
    close: () => {
      for (const run of listeners.keys()) end(run);
    },
    follow: async function* (journal, run, after, live, deltas) {
      const listener: Listener = { queue: [], deltas, ended: false, wake: () => undefined };
      const here = listeners.get(run) ?? new Set();
      // Listening starts before reading, so that nothing falls between the two.
      if (live) listeners.set(run, here.add(listener));
      try {
        let seen = after;
        const stored = await readRun(journal, run);
        for (const event of stored.events) {
          if (event.seq <= seen) continue;
          seen = event.seq;
          yield event;
        }
        if (!live || stored.state.outcome !== null) return;
        for (;;) {
          for (let entry = listener.queue.shift(); entry !== undefined; entry = listener.queue.shift()) {
            if (entry.type === 'reply.streamed') {
              yield entry;
              continue;
            }
            if (entry.seq <= seen) continue;
            if (entry.seq > seen + 1) {
              // What lies between was committed by another process.
              listener.queue.unshift(...(await newer(journal, run, seen)));
              continue;
            }
            seen = entry.seq;
            yield entry;
            if (entry.type === 'run.ended') return;
          }
          if (listener.ended) return;
          await awoken(listener);
          if (listener.queue.length > 0 || listener.ended) continue;
          // Nothing was heard in this process; somebody answered in another one perhaps.
          for (const event of await newer(journal, run, seen)) listener.queue.push(event);
        }
      } finally {
        here.delete(listener);
        if (here.size === 0) listeners.delete(run);
      }
    },
  };
}

/** Whoever follows a run keeps the process alive, as anybody who waits for something does. */
async function awoken(listener: Listener): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    listener.wake = resolve;
    timer = setTimeout(resolve, LOOK_MS);
  });
  clearTimeout(timer);
}
const LOOK_MS = 500;

async function newer(journal: Journal, run: RunId, seen: number): Promise<readonly ChainedEvent[]> {
  const stored = await journal.load(run);
  const last = stored?.appends.at(-1);
  const head = last === undefined ? (stored?.snapshot?.seq ?? 0) : last.after + last.count;
  return head > seen ? (await readRun(journal, run)).events.filter(({ seq }) => seq > seen) : [];
}

/** Whoever reads slowly gets longer pieces, not more of them. */
function addDelta(queue: (ChainedEvent | Delta)[], { run, key, attempt, name }: Command, text: string): void {
  const last = queue.at(-1);
  if (last?.type === 'reply.streamed' && last.key === key && last.attempt === attempt)
    queue[queue.length - 1] = { ...last, text: last.text + text };
  else queue.push({ type: 'reply.streamed', run, key, attempt, agent: name, text });
}
