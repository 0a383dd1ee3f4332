/**
 * Waits for what other processes store. A hint of the store ends a wait at once; a store that gives no hint, or loses one, only
 * makes the wait longer.
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Hint, Store } from '../ports/ports.ts';

export class Hints {
  /** Called when there is new mail. */
  onMail: () => void = () => undefined;
  readonly #waiting = new Map<RunId, Set<() => void>>();
  readonly #stop: () => void;

  constructor(store: Pick<Store, 'subscribe'>, onRuns: (runs: readonly RunId[]) => void) {
    const wake = ({ runs, mail }: Hint): void => {
      onRuns(runs);
      for (const run of runs) for (const end of this.#waiting.get(run) ?? []) end();
      if (mail) this.onMail();
    };
    this.#stop = store.subscribe?.(wake) ?? (() => undefined);
  }

  /** Resolves when the run has new events of another process, or after this time. */
  async next(run: RunId, ms: number): Promise<void> {
    const waiting = this.#waiting.get(run) ?? new Set();
    this.#waiting.set(run, waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    waiting.delete(resolve);
    if (waiting.size === 0) this.#waiting.delete(run);
  }

  close(): void {
    this.#stop();
  }
}
