/** Events for whoever listens: first what is stored, then what is committed, each exactly once and in order. */
import type { Event, RunId } from '../core/run.ts';
import { linkEvents } from './chain.ts';
import type { ChainedEvent } from './engine-types.ts';
import type { Journal } from './ports.ts';
import { readRun } from './read.ts';

export interface Feed {
  publish(run: RunId, events: readonly Event[], previous: string, hash: string): void;
  end(run: RunId): void;
  close(): void;
  follow(journal: Journal, run: RunId, after: number, live: boolean): AsyncIterable<ChainedEvent>;
}

interface Listener {
  readonly queue: ChainedEvent[];
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
    end,
    close: () => {
      for (const run of listeners.keys()) end(run);
    },
    follow: async function* (journal, run, after, live) {
      const listener: Listener = { queue: [], ended: false, wake: () => undefined };
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
          for (let event = listener.queue.shift(); event !== undefined; event = listener.queue.shift()) {
            if (event.seq <= seen) continue;
            seen = event.seq;
            yield event;
            if (event.type === 'run.ended') return;
          }
          if (listener.ended) return;
          await new Promise<void>((resolve) => {
            listener.wake = resolve;
          });
        }
      } finally {
        here.delete(listener);
        if (here.size === 0) listeners.delete(run);
      }
    },
  };
}
