/**
 * Any character that a text can hold, for `fc.string({ unit: ANY_CHARACTER })`: the same as `unit: 'binary'`, which builds a
 * table of a million characters in every process.
 */
import fc from 'fast-check';

const [SURROGATES_FROM, SURROGATES] = [0xd800, 0x800];

export const ANY_CHARACTER: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES),
  (character) => {
    const point = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (point === undefined || character !== String.fromCodePoint(point)) throw new Error('not one character');
    return point < SURROGATES_FROM ? point : point - SURROGATES;
  },
);
