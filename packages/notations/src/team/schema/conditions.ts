/** A condition on a field of the JSON in a reply, as authors write it. */
import type * as z from 'zod';
import { bool, name, record, text } from '@sluice-internal/compile/document';

/** Text that editors also accept without quotes. `normalised` reads a whole number, and true or false, as text. */
export function plainText() {
  return text().meta({ type: ['string', 'integer', 'boolean'] });
}

export const condition = record(() => ({
  Field: name().describe('A field of the reply; dots lead into objects.'),
  Is: plainText().optional().describe('Holds if the field equals this text. Letter case does not matter.'),
  IsNot: plainText().optional().describe('Holds if the field is another text, or is missing.'),
  Contains: plainText().optional().describe('Holds if the field contains this text. Letter case does not matter.'),
  Exists: bool().optional().describe('True: holds if the field is there and not null. False: holds if it is not.'),
}));
export type RawCondition = z.output<typeof condition>;
