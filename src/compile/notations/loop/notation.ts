/** The notation of the bounded agent: reads a loop, checks it, and lowers it to the one graph that everything runs on. */
import { loopExcess } from '../../advise/excess.ts';
import type { Notation } from '../notation.ts';
import { lowerLoop } from './lower.ts';
import { drawLoop } from './picture.ts';
import { readLoop } from './read.ts';
import { loopSchema } from './schema.ts';

export const loopNotation: Notation = {
  name: 'loop',
  key: 'loop',
  schema: loopSchema,
  excess: loopExcess,
  lower(document, definitions, report) {
    const read = readLoop(document, definitions, report);
    if (read === null) return { lowered: null, picture: null };
    const { loop } = read;
    return { lowered: lowerLoop(loop, document.at), picture: drawLoop(loop) };
  },
};
