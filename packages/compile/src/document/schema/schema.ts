/** The schemas of the shared sections: everything that a document may have besides its notation. */
import * as z from 'zod';
import { jsonMap, map, record } from '../shape/fields.ts';
import { agents, models } from './agents.ts';
import { boundary, budgets, pii, policies, retain, version } from './bounds.ts';
import { protections } from './protections.ts';
import { notify, people, reviewQueue } from './people.ts';
import { mcp, tools } from './tools.ts';
import type { Json } from '@sluice-internal/kernel/expr';

const FLOWS = 'Flows by id that `flow` nodes of this document run. Each has the fields of `flow`.';

const sectionShape = {
  sluice: version.optional(),
  models: models.optional(),
  agents: agents.optional(),
  tools: tools.default({}),
  mcp: mcp.default({}),
  policies: policies.optional(),
  budgets: budgets.optional(),
  boundary: boundary.optional(),
  protections: protections.optional(),
  pii: pii.optional(),
  retain: retain.optional(),
  people: people.optional(),
  notify: notify.optional(),
  review_queue: reviewQueue.optional(),
  flows: jsonMap().optional().describe(FLOWS),
};
export const sectionsSchema = record(sectionShape);

export type Sections = z.output<typeof sectionsSchema>;
export type WrittenSections = z.input<typeof sectionsSchema>;
export const SECTION_NAMES = Object.keys(sectionShape) as readonly (keyof Sections)[];

export function isSectionName(key: string): key is keyof Sections {
  return Object.hasOwn(sectionShape, key);
}

interface NotationSchema {
  /** The top-level key, such as `flow`. */
  readonly key: string;
  readonly schema?: z.ZodType;
  /** The keys of the bare form, where the document itself is the notation. */
  readonly bare?: () => z.ZodRawShape;
}

export function documentSchema(notations: readonly NotationSchema[]): { readonly [key: string]: Json } {
  const variants = notations.flatMap(({ key, schema, bare }) => [
    ...(schema === undefined ? [] : [record(() => ({ ...sectionShape, ...parts(key, schema), [key]: schema }))]),
    ...(bare === undefined ? [] : [record(() => ({ ...sectionShape, ...bare() }))]),
  ]);
  const [first, ...rest] = variants;
  const whole = first === undefined ? record(sectionShape) : z.union([first, ...rest]);
  return { title: 'A Sluice document', ...schemaOf(whole) };
}

/** The flows that a flow runs have its own fields. */
function parts(key: string, schema: z.ZodType): z.ZodRawShape {
  return key === 'flow' ? { flows: map(schema).optional().describe(FLOWS) } : {};
}

/** The JSON Schema 2020-12 of a document, for editors. The compiler makes the checks that JSON Schema cannot express. */
export function schemaOf(schema: z.ZodType): { readonly [key: string]: Json } {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'ref' }) as { [key: string]: Json };
}
