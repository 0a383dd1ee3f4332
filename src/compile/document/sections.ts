/**
 * What documents of every notation share: models, agents, tools and bounds. Read strictly, with names resolved among
 * themselves; what a notation refers to is for the notation to check, with `declareIds` and `toolNames`.
 */
import { BUILTIN_TOOL_NAMES } from './builtin-tools.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import { withEntries, type Located } from '../source/located.ts';
import { checkSections } from './section-checks.ts';
import { isSectionName, sectionsSchema, type Sections } from './section-schema.ts';
import { readShape, type Shaped } from './shape/shape.ts';

/** Sections that this release reads and checks but does not act on yet; using one gives a warning, never silence. */
export const UNENFORCED: readonly (keyof Sections)[] = ['protections', 'pii'];

export interface SectionOptions {
  /** Tools that exist without being declared. */
  readonly builtinTools?: ReadonlySet<string>;
  readonly unenforced?: readonly (keyof Sections)[];
}

/** Reads only the section keys of the document; the others are the notation's. */
export function readSections(doc: Located, report: Report, options: SectionOptions = {}): Shaped<Sections> | null {
  if (doc.kind !== 'map') return null;
  const sections = readShape(sectionsSchema, withEntries(doc, isSectionName), report);
  if (sections !== null)
    checkSections(sections, doc, report, { builtinTools: BUILTIN_TOOL_NAMES, unenforced: UNENFORCED, ...options });
  return sections;
}
