/**
 * Which of the five notations a document is written in. It holds exactly one; step documents and team documents may also
 * stand bare, without the key that names their notation.
 */
import type { Report } from '../diagnose/diagnostics.ts';
import {
  childOf,
  entryOf,
  headRange,
  withEntries,
  type Entry,
  type Located,
  type LocatedMap,
} from '../source/located.ts';
import { nearest } from '../diagnose/nearest.ts';
import type { Range } from '../source/range.ts';
import { isSectionName } from './schema/schema.ts';

export const NOTATIONS = ['flow', 'workflow', 'orchestration', 'staged', 'loop'] as const;
export type Notation = (typeof NOTATIONS)[number];

export interface Detected {
  readonly notation: Notation;
  /** What the notation's key holds; for a bare document, the document without the shared sections. */
  readonly body: Located;
  readonly bare: boolean;
  /** The key that decided. */
  readonly at: Range;
}

const KEYS: { readonly [key: string]: Notation } = {
  flow: 'flow',
  workflow: 'workflow',
  Orchestration: 'orchestration',
  staged: 'staged',
  loop: 'loop',
};
const BARE_KEYS: { readonly [key: string]: Notation } = {
  steps: 'workflow',
  Agents: 'orchestration',
  Selection: 'orchestration',
};
const LEGACY = 'runtime';
export const NOTATION_KEYS: readonly string[] = Object.keys(KEYS);

export function detectNotation(doc: Located, report: Report): Detected | null {
  if (doc.kind !== 'map') {
    const found = doc.kind === 'list' ? 'a list' : 'a single value';
    report.error('wrong-type', headRange(doc), `a document is a map with a key such as \`flow\`, but this is ${found}`);
    return null;
  }
  const found = candidates(doc);
  const [first, second] = found;
  if (first === undefined) {
    reportNone(doc, report);
    return null;
  }
  if (second !== undefined) {
    report.error(
      'several-notations',
      second.at,
      `a document holds one notation, but this one holds \`${keyAt(doc, first)}\` and \`${keyAt(doc, second)}\``,
      {
        help: 'Put each into a file of its own.',
        related: [{ message: 'the first one is here', at: first.at }],
      },
    );
    return null;
  }
  return first;
}

function candidates(doc: LocatedMap): readonly Detected[] {
  const found: Detected[] = [];
  const bare = withEntries(doc, (key) => !isSectionName(key));
  for (const [key, entry] of doc.entries) {
    const named = own(KEYS, key);
    const unnamed = own(BARE_KEYS, key);
    if (named !== undefined) found.push({ notation: named, body: entry.value, bare: false, at: entry.keyRange });
    // `Agents` and `Selection` are two parts of one bare document.
    else if (unnamed !== undefined && !found.some((each) => each.bare && each.notation === unnamed)) {
      found.push({ notation: unnamed, body: bare, bare: true, at: entry.keyRange });
    }
  }
  const legacy = legacyFlow(doc);
  return legacy === undefined || found.length > 0
    ? found
    : [{ notation: 'flow', body: legacy.value, bare: false, at: legacy.keyRange }];
}

/** The older place of a flow, under `runtime`. */
export function legacyFlow(doc: Located): Entry | undefined {
  return entryOf(childOf(doc, LEGACY), 'flow');
}

function reportNone(doc: LocatedMap, report: Report): void {
  const slip = misspeltKey(doc);
  if (slip !== undefined) {
    report.error('unknown-notation', slip.at, `\`${slip.key}\` is not a notation`, {
      help: `Did you mean \`${slip.near}\`?`,
    });
    return;
  }
  report.error('no-notation', headRange(doc), 'this document declares nothing to run', {
    help: `Add one of ${NOTATION_KEYS.map((key) => `\`${key}\``).join(', ')}.`,
  });
}

/** The key that can only have been meant for a notation, at the top or in the older place of a flow. */
function misspeltKey(doc: LocatedMap): { readonly key: string; readonly near: string; readonly at: Range } | undefined {
  const names = [...NOTATION_KEYS, ...Object.keys(BARE_KEYS)];
  for (const { key, keyRange, value } of doc.entries.values()) {
    if (isSectionName(key)) continue;
    const near = nearest(key, entryOf(value, 'flow') === undefined ? names : [...names, LEGACY]);
    if (near !== undefined) return { key, near, at: keyRange };
    if (key !== LEGACY || value.kind !== 'map') continue;
    const inner = [...value.entries.values()].find((each) => nearest(each.key, ['flow']) !== undefined);
    if (inner !== undefined) return { key: `${key}.${inner.key}`, near: `${key}.flow`, at: inner.keyRange };
  }
  return undefined;
}

function keyAt(doc: LocatedMap, detected: Detected): string {
  return [...doc.entries.values()].find((entry) => entry.keyRange === detected.at)?.key ?? detected.notation;
}

function own<Value>(table: { readonly [key: string]: Value }, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
