/** One part of the chaos campaign: a round with a seed tells its figures and the promises that it saw broken. */
export interface Part {
  readonly name: string;
  /** The promise that the part attacks, for the table that the campaign prints. */
  readonly promise: string;
  /** The round of a seed; `short` is the size that `npm test` runs. */
  round(seed: number, size: 'short' | 'long'): Promise<Round>;
}

export interface Round {
  readonly figures: { readonly [name: string]: number };
  readonly violations: readonly string[];
  /** Why the round could not run on this machine. */
  readonly skipped?: string;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
