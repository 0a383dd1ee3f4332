/** The random source of a simulation: the same seed gives the same choices in the same order. */
export interface Chance {
  /** A whole number from 0 up to, but not including, `count`. */
  below(count: number): number;
  /** True about once in `times`; never when `times` is 0. */
  oneIn(times: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** An independent source, so that one kind of fault does not affect another. */
  fork(label: string): Chance;
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: (count) => Math.floor(next() * count),
    oneIn: (times) => times > 0 && next() * times < 1,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
    fork: (label) => {
      let mixed = seed >>> 0;
      for (const letter of label) mixed = Math.imul(mixed ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
      return createChance(mixed);
    },
  };
}
