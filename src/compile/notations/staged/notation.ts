/** The staged notation: plan, fan-out, fan-in, validate, finalize. */
import { FULL_PROTECTIONS } from '../../document/protections.ts';
import type { Notation } from '../notation.ts';
import { drawStaged } from './draw.ts';
import { lowerStaged } from './lower.ts';
import { readStaged } from './read.ts';
import { stagedSchema } from './schema.ts';

export const stagedNotation: Notation = {
  name: 'staged',
  key: 'staged',
  schema: stagedSchema,
  limits: ['depth', 'spawn', 'on_failure'],
  protections: FULL_PROTECTIONS,
  lower(document, definitions, report) {
    const staged = readStaged(document, definitions, report);
    if (staged === null) return { lowered: null, picture: null };
    return { lowered: lowerStaged(staged, document.at), picture: drawStaged(staged) };
  },
};
