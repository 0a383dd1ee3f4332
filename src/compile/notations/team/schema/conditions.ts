/** A condition on a field of the JSON in a reply, as authors write it. */
import type * as z from 'zod';
import { bool, name, record, text } from '../../../document/shape/fields.ts';

export const condition = record(() => ({
  Field: name().describe('A field of the reply; dots lead into objects.'),
  Is: text().optional(),
  IsNot: text().optional(),
  Contains: text().optional(),
  Exists: bool().optional(),
}));
export type RawCondition = z.output<typeof condition>;
