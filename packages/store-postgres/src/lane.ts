/**
 * A chain of heads of this process. What it records is stored one after the other, because each row has the hash of the row before. After
 * an error the last row is not known, and the next one begins another chain.
 */
import type { Json } from '@sluice-internal/kernel/expr';

/** The next row: its chain, its number, and the hash of the row before. Without a chain the store gives it one. */
export type Place = readonly [chain: number | null, number: number, prev: string];
/** The row that was stored. */
export interface Head {
  readonly chain: number;
  readonly number: number;
  readonly hash: string;
}

export class Lane {
  #place: Place = START;
  #last: Promise<unknown> = Promise.resolve();

  /** `work` stores the row at this place. Its result has no head if it stored none. */
  async record<T extends { readonly head: Head | null }>(work: (place: Place) => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    try {
      const result = await work(this.#place);
      if (result.head !== null) this.#place = [result.head.chain, result.head.number + 1, result.head.hash];
      return result;
    } catch (error) {
      this.#place = START;
      throw error;
    } finally {
      resolve();
    }
  }
}

const START: Place = [null, 1, ''];

/** What a function of the schema returns; null if it stored nothing. */
export function headIn(returned: Json | undefined): Head | null {
  return returned === null || returned === undefined ? null : (returned as unknown as Head);
}
