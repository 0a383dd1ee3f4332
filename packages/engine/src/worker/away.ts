/** A store that is away: it cannot be reached now, and may be back at any time. Nothing of it is lost. */
import { canonical } from '@sluice-internal/kernel/expr';
import { SluiceError } from '../ports/errors.ts';
import type { Swapped } from '../ports/cells.ts';

const AWAY: ReadonlySet<string> = new Set(['journal-busy', 'journal-unavailable']);

export function isAway(error: unknown): error is SluiceError {
  return error instanceof SluiceError && AWAY.has(error.code);
}

/**
 * Shared values whose reads and changes wait for the store: the result of a call must not be lost because it is away. No virtual time
 * passes meanwhile: a store on another machine takes longer than one in memory, and the steps of a run must not depend on it.
 */
export function patient(
  shared: Swapped,
  untilBack: (error: unknown) => Promise<void>,
  busy: () => (() => void) | undefined = () => undefined,
): Swapped {
  const retried = async <T>(work: () => Promise<T>): Promise<T> => {
    const done = busy();
    try {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          await untilBack(error);
        }
      }
    } finally {
      done?.();
    }
  };
  const get: Swapped['get'] = (key) => retried(() => shared.get(key));
  const trySwap: Swapped['swap'] = async (key, version, value, act) => {
    for (;;) {
      try {
        return await shared.swap(key, version, value, act);
      } catch (error) {
        await untilBack(error);
        // The answer may have been lost after the value was stored.
        const found = await get(key);
        if (found.version !== version) return canonical(found.value) === canonical(value);
      }
    }
  };
  const swap: Swapped['swap'] = (...given) => retried(() => trySwap(...given));
  return { get, swap };
}
