/** The notation of the bounded agent. */
import { loopExcess } from './excess.ts';
import type { Notation } from '@sluice-internal/compile/rules';
import { drawLoop } from './draw.ts';
import { lowerLoop } from './lower.ts';
import { readLoop } from './read.ts';
import { loopSchema } from './schema.ts';

export const loopNotation: Notation = {
  name: 'loop',
  key: 'loop',
  schema: loopSchema,
  lower(document, definitions, report) {
    const loop = readLoop(document, definitions, report);
    if (loop === null) return { lowered: null, picture: null };
    const lowered = lowerLoop(loop, document.at);
    return { lowered, picture: drawLoop(loop), excess: loopExcess(lowered.body), boundary: loop.definitions.boundary };
  },
};
