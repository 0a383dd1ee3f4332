/** The definitions of the shared sections, put together: what a document may hold besides its notation. */
import type * as z from 'zod';
import { record } from './shape/fields.ts';
import { agents, models } from './section-agents.ts';
import { boundary, budgets, pii, policies, protections, version } from './section-bounds.ts';
import { mcp, tools } from './section-tools.ts';

export const sectionShape = {
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
};
export const sectionsSchema = record(sectionShape);

export type Sections = z.output<typeof sectionsSchema>;
export const SECTION_NAMES = Object.keys(sectionShape) as readonly (keyof Sections)[];

export function isSectionName(key: string): key is keyof Sections {
  return Object.hasOwn(sectionShape, key);
}
