/**
 * The JSON Schema that editors complete and check documents with, from the very definitions that the compiler reads by. Each
 * notation adds its key, and a bare form where it has one.
 */
import * as z from 'zod';
import type { Json } from '../../expr/json.ts';
import { record } from './shape/fields.ts';
import { sectionShape } from './section-schema.ts';

export interface NotationSchema {
  /** The top-level key, such as `flow`. */
  readonly key: string;
  readonly schema: z.ZodType;
  /** The keys of the bare form, where the document itself is the notation. */
  readonly bare?: z.ZodRawShape;
}

export function documentSchema(notations: readonly NotationSchema[]): { readonly [key: string]: Json } {
  const variants = notations.flatMap(({ key, schema, bare }) => [
    record({ ...sectionShape, [key]: schema }),
    ...(bare === undefined ? [] : [record({ ...sectionShape, ...bare })]),
  ]);
  const [first, ...rest] = variants;
  const whole = first === undefined ? record(sectionShape) : z.union([first, ...rest]);
  return { title: 'A Sluice document', ...schemaOf(whole) };
}

/** The JSON Schema 2020-12 of what an author writes; checks that it cannot express are left to the compiler. */
export function schemaOf(schema: z.ZodType): { readonly [key: string]: Json } {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'ref' }) as { [key: string]: Json };
}
