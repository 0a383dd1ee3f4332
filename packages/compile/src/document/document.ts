/**
 * The first half of compiling, common to all notations: finds the notation, reads the shared sections, and reports unknown keys
 * at the top.
 */
import type { Report } from '../source/diagnostics.ts';
import { unknownKeyHelp } from './shape/fault-words.ts';
import { RESERVED_KEY, type Located, type LocatedMap, withEntries } from '../source/located.ts';
import { nearest } from '../source/nearest.ts';
import { detectNotation, reportOtherCase, type Detected, type NotationKeys } from './notation.ts';
import { SECTION_NAMES, isSectionName, sectionsSchema, type Sections } from './schema/schema.ts';
import { sectionNames, type SectionNames } from './names.ts';
import { checkSections } from './names-check.ts';
import { readShape, type Shaped } from './shape/shape.ts';

export interface ReadDocument extends Detected {
  readonly doc: LocatedMap;
  readonly sections: Shaped<Sections>;
  readonly names: SectionNames;
}

/** Null if the notation is unclear. Problems of the sections are reported even then. */
export function readDocument(doc: Located, notations: readonly NotationKeys[], report: Report): ReadDocument | null {
  const detected = detectNotation(doc, notations, report);
  const notation = detected?.bare === true ? notations.find(({ name }) => name === detected.notation) : undefined;
  const slip = doc.kind !== 'map' || notation === undefined ? undefined : reportOtherCase(doc, notation, report);
  const names = sectionNames(doc, keysOf(notations));
  const sections = readSections(doc, names, report, slip);
  if (doc.kind !== 'map' || detected === null || sections === null || slip !== undefined) return null;
  if (!detected.bare) reportStrayKeys(doc, notations, report);
  return { ...detected, doc, sections, names };
}

/** In a bare document the other keys are the notation's, which reads them as strictly. */
function reportStrayKeys(doc: LocatedMap, notations: readonly NotationKeys[], report: Report): void {
  const known = [...SECTION_NAMES, ...keysOf(notations)];
  const places = notations.flatMap(({ key, olderPlace }) =>
    olderPlace === undefined || doc.entries.has(key) ? [] : [olderPlace],
  );
  for (const { key, keyRange } of doc.entries.values()) {
    if (key === RESERVED_KEY || [...known, ...places].includes(key)) continue;
    const near = nearest(key, known);
    report.error('unknown-key', keyRange, `unknown key \`${key}\` in this document`, {
      help: unknownKeyHelp(key, near, known),
    });
  }
}

function keysOf(notations: readonly NotationKeys[]): readonly string[] {
  return notations.map(({ key }) => key);
}

/** Reads only the section keys of the document; the others, and `slip`, are the notation's. */
function readSections(doc: Located, names: SectionNames, report: Report, slip?: string): Shaped<Sections> | null {
  if (doc.kind !== 'map') return null;
  const isSection = (key: string): boolean => isSectionName(key) && key !== slip;
  const sections = readShape(sectionsSchema, withEntries(doc, isSection), report);
  if (sections !== null) checkSections(sections, doc, names, report);
  return sections;
}
