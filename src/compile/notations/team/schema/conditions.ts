/** A condition on a field of the JSON in a reply, as authors write it. */
import type * as z from 'zod';
import { bool, name, record, text } from '../../../document/shape/fields.ts';

/** Text that editors also accept without quotes. `normalised` reads a whole number, and true or false, as text. */
export function plainText() {
  return text().meta({ type: ['string', 'integer', 'boolean'] });
}

export const condition = record(() => ({
  Field: name().describe('A field of the reply; dots lead into objects.'),
  Is: plainText().optional(),
  IsNot: plainText().optional(),
  Contains: plainText().optional(),
  Exists: bool().optional(),
}));
export type RawCondition = z.output<typeof condition>;
