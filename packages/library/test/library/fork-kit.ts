/** An engine whose calls are recorded, and the events of a run, for tests of forks. */
import { createEngine } from '../../src/index.ts';
import type { ChainedEvent, Engine, Store } from '../../src/index.ts';

export function engineOn(journal: Store, calls: string[]): Engine {
  return createEngine({
    journal,
    pickUp: false,
    performer: {
      perform: async ({ command, idempotencyKey }) => {
        calls.push(`${command.name} ${JSON.stringify(command.input['args'])} ${idempotencyKey}`);
        return { ok: true, value: { to: 'ann' } };
      },
    },
  });
}

export async function eventsOf(engine: Engine, run: string): Promise<readonly ChainedEvent[]> {
  const events: ChainedEvent[] = [];
  for await (const event of engine.events(run, { live: false })) events.push(event);
  return events;
}
