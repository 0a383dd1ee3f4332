/** Chance from one integer. The same integer gives the same draws on every machine. */
export interface Chance {
  /** In [0, 1). */
  next(): number;
  /** A whole number from 0 up to, and not including, `max`. */
  below(max: number): number;
  flip(likely: number): boolean;
  oneOf<T>(choices: readonly T[]): T;
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (max: number): number => Math.floor(next() * max);
  return {
    next,
    below,
    flip: (likely) => next() < likely,
    oneOf: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    weighted: (choices) => {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, choice] of choices) {
        left -= weight;
        if (left < 0) return choice;
      }
      return (choices.at(-1) as (typeof choices)[number])[1];
    },
  };
}
