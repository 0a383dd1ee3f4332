/**
 * Poison marks what was written but could not be read. Its mistake has been reported, so every later check passes over it
 * and one mistake gives one error. It has three forms:
 * - `POISON` is a text that takes the place of a required text that is missing or faulty;
 * - a poisoned set of names (`names.ts`) has every name;
 * - `Shaped.poisoned(path)` is true for an optional value that was taken out.
 */
export const POISON = '\u0000';

export function isPoison(value: unknown): boolean {
  return value === POISON;
}
