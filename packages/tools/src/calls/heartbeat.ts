/** Signs of life of a function that performs a tool. An attempt that is silent for longer than its tool declares is lost. */
import { fail } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';

/** What a function gets to tell that it is at work, and to learn that nobody waits for it any more. */
export interface Beat {
  readonly beat: () => void;
  readonly signal: AbortSignal;
}

/** Counts real time, also in a run with a virtual clock. Time in which this whole process stood still is no silence. */
export async function withHeartbeat<Result>(
  call: Call,
  work: (beat: Beat) => Promise<Result>,
  given?: AbortSignal,
): Promise<Result> {
  const { name } = call.command;
  const { flow } = call;
  const everyMs = Object.hasOwn(flow.tools, name) ? flow.tools[name]?.heartbeatMs : undefined;
  // The signal of a call is made when it is read.
  if (everyMs === undefined)
    return work({
      beat: () => {},
      get signal() {
        return given ?? call.signal;
      },
    });
  const wanted = given ?? call.signal;
  const lost = new AbortController();
  const { promise: silent, reject } = Promise.withResolvers<never>();
  const watch = new Watch(everyMs, () => {
    reject(fail('timeout', 'HeartbeatError', `\`${name}\` gave no sign of life for ${everyMs / 1000} s`));
    lost.abort();
  });
  try {
    return await Promise.race([
      work({ beat: () => watch.beat(), signal: AbortSignal.any([wanted, lost.signal]) }),
      silent,
    ]);
  } finally {
    watch.end();
  }
}

class Watch {
  readonly #everyMs: number;
  readonly #onSilence: () => void;
  #timer: NodeJS.Timeout;
  #due: number;
  #ended = false;

  constructor(everyMs: number, onSilence: () => void) {
    this.#everyMs = everyMs;
    this.#onSilence = onSilence;
    this.#due = performance.now() + everyMs;
    this.#timer = setTimeout(() => this.#look(), everyMs);
  }

  beat(): void {
    if (!this.#ended) this.#due = performance.now() + this.#everyMs;
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #look(): void {
    const late = performance.now() - this.#due;
    if (late > this.#everyMs / 2) this.beat();
    else if (late >= 0) {
      this.#ended = true;
      return this.#onSilence();
    }
    this.#timer = setTimeout(() => this.#look(), Math.max(1, this.#due - performance.now()));
  }
}
