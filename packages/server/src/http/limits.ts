/** The limits of a server: requests by caller, and open streams. */
export interface Limits {
  /** Requests of one caller: at once, and then per second. */
  readonly burst: number;
  readonly perSecond: number;
  readonly streamsPerCaller: number;
  readonly streams: number;
  readonly bodyBytes: number;
  readonly depth: number;
  readonly attachmentBytes: number;
}

export const LIMITS: Limits = {
  burst: 200,
  perSecond: 50,
  streamsPerCaller: 8,
  streams: 256,
  bodyBytes: 1_048_576,
  depth: 64,
  attachmentBytes: 20 * 1_048_576,
};

interface Bucket {
  tokens: number;
  at: number;
}

/** A token bucket for each caller. A caller that was quiet long enough has a full one, and is forgotten. */
export class Rates {
  readonly #buckets = new Map<string, Bucket>();
  readonly #limits: Limits;
  readonly #now: () => number;

  constructor(limits: Limits, now: () => number = Date.now) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Null, or the number of seconds after which the next request is taken. */
  take(caller: string): number | null {
    const { burst, perSecond } = this.#limits;
    const now = this.#now();
    const { tokens, at } = this.#buckets.get(caller) ?? { tokens: burst, at: now };
    const left = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
    this.#buckets.set(caller, { tokens: Math.max(0, left - 1), at: now });
    if (this.#buckets.size > FORGET_AT) this.#forget(now);
    return left >= 1 ? null : Math.ceil((1 - left) / perSecond);
  }

  #forget(now: number): void {
    const full = (this.#limits.burst / this.#limits.perSecond) * 1000;
    for (const [caller, { at }] of this.#buckets) if (now - at > full) this.#buckets.delete(caller);
  }
}

const FORGET_AT = 10_000;

/** Counts the open streams of each caller. */
export class Streams {
  readonly #open = new Map<string, number>();
  readonly #limits: Limits;
  #all = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#all;
  }

  /** Ends the count of the stream; null if there are too many. */
  open(caller: string): (() => void) | null {
    const own = this.#open.get(caller) ?? 0;
    if (own >= this.#limits.streamsPerCaller || this.#all >= this.#limits.streams) return null;
    this.#open.set(caller, own + 1);
    this.#all += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#all -= 1;
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left === 0) this.#open.delete(caller);
      else this.#open.set(caller, left);
    };
  }
}
