/** Cursors of the changes of all runs. */
import { SluiceError } from './errors.ts';

const PREFIX = 'c';

export function changeCursor(number: number): string {
  return `${PREFIX}${number}`;
}

/** The number in a cursor; 0 for the beginning, which is the empty text. */
export function placeOfChange(cursor: string): number {
  if (cursor === '') return 0;
  const number = Number(cursor.slice(PREFIX.length));
  if (/^c\d+$/.test(cursor) && Number.isSafeInteger(number)) return number;
  throw new SluiceError(
    'bad-cursor',
    `\`${cursor}\` is not a place in this list`,
    'Pass the cursor of a change, or leave it out for the beginning.',
  );
}
