/** Keeps within a model's requests per minute. A call waits for its place instead of being refused by the provider. */
import type { Clock } from '../../runtime/ports.ts';
import type { Target } from './target.ts';

const MINUTE_MS = 60_000;

export interface Pace {
  /** Resolves when the call may be sent. */
  wait(target: Target, clock: Clock, signal: AbortSignal): Promise<void>;
}

export function createPace(): Pace {
  const sent = new Map<string, number[]>();
  return {
    wait: async ({ name, requestsPerMinute }, clock, signal) => {
      if (requestsPerMinute === undefined) return;
      const times = sent.get(name) ?? [];
      sent.set(name, times);
      for (;;) {
        const now = clock.now();
        while (times.length > 0 && (times[0] as number) <= now - MINUTE_MS) times.shift();
        if (times.length < requestsPerMinute) return void times.push(now);
        await clock.sleep((times[0] as number) + MINUTE_MS - now, signal);
      }
    },
  };
}
