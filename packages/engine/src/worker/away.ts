/** A store that is away: it cannot be reached now, and may be back at any time. Nothing of it is lost. */
import { SluiceError } from '../ports/errors.ts';
import type { Shared } from '../ports/ports.ts';

const AWAY: ReadonlySet<string> = new Set(['journal-busy', 'journal-unavailable']);

export function isAway(error: unknown): error is SluiceError {
  return error instanceof SluiceError && AWAY.has(error.code);
}

/** Shared values whose reads and changes wait for the store: the result of a call must not be lost because it is away. */
export function patient(shared: Shared, untilBack: (error: unknown) => Promise<void>): Pick<Shared, 'get' | 'update'> {
  const retried = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        await untilBack(error);
      }
    }
  };
  return {
    get: (key) => retried(() => shared.get(key)),
    update: (key, change) => retried(() => shared.update(key, change)),
  };
}
