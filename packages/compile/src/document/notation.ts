/**
 * Finds the notation of a document. A document holds exactly one. Some notations may also stand bare, without the key that
 * names them.
 */
import type { Report } from '../source/diagnostics.ts';
import { childOf, entryOf, headRange, withEntries, type Located, type LocatedMap } from '../source/located.ts';
import { nearest } from '../source/nearest.ts';
import type { Range } from '../source/range.ts';
import { isSectionName } from './schema/schema.ts';

/** The keys by which a document shows its notation. */
export interface NotationKeys {
  /** The name in reports. */
  readonly name: string;
  /** The top-level key that holds the notation. */
  readonly key: string;
  /** Top-level keys of a document in which the notation stands bare. */
  readonly bareKeys?: readonly string[];
  /** An older top-level key under which `key` may stand. */
  readonly olderPlace?: string;
}

export interface Detected {
  /** The notation's name. */
  readonly notation: string;
  /** The value of the notation's key; for a bare document, the document without the shared sections. */
  readonly body: Located;
  readonly bare: boolean;
  /** The key that decided. */
  readonly at: Range;
}

export function detectNotation(doc: Located, notations: readonly NotationKeys[], report: Report): Detected | null {
  if (doc.kind !== 'map') {
    const found = doc.kind === 'list' ? 'a list' : 'a single value';
    report.error(
      'wrong-type',
      headRange(doc),
      `a document is a map with a key such as \`flow\`, but this is ${found}`,
      { help: startHelp(notations) },
    );
    return null;
  }
  const found = candidates(doc, notations);
  const [first, second] = found;
  if (first === undefined) {
    reportNone(doc, notations, report);
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

/** Reports a shared section that stands where a bare notation has a key of its own: `agents` instead of `Agents`. */
export function reportOtherCase(doc: LocatedMap, { bareKeys = [] }: NotationKeys, report: Report): string | undefined {
  const near = bareKeys.find((key) => !doc.entries.has(key) && doc.entries.has(key.toLowerCase()));
  const entry = near === undefined ? undefined : doc.entries.get(near.toLowerCase());
  if (entry === undefined) return undefined;
  report.error('unknown-key', entry.keyRange, `unknown key \`${entry.key}\` in this document`, {
    help: `Did you mean \`${near}\`?`,
  });
  return entry.key;
}

function candidates(doc: LocatedMap, notations: readonly NotationKeys[]): readonly Detected[] {
  const found: Detected[] = [];
  const bare = withEntries(doc, (key) => !isSectionName(key));
  for (const [key, entry] of doc.entries) {
    const named = notations.find((each) => each.key === key)?.name;
    const unnamed = notations.find(({ bareKeys = [] }) => bareKeys.includes(key))?.name;
    if (named !== undefined) found.push({ notation: named, body: entry.value, bare: false, at: entry.keyRange });
    // `Agents` and `Selection` are two parts of one bare document.
    else if (unnamed !== undefined && !found.some((each) => each.bare && each.notation === unnamed)) {
      found.push({ notation: unnamed, body: bare, bare: true, at: entry.keyRange });
    }
  }
  return found.length > 0 ? found : notations.flatMap((notation) => inOlderPlace(doc, notation));
}

function inOlderPlace(doc: LocatedMap, { name, key, olderPlace }: NotationKeys): readonly Detected[] {
  const entry = olderPlace === undefined ? undefined : entryOf(childOf(doc, olderPlace), key);
  return entry === undefined ? [] : [{ notation: name, body: entry.value, bare: false, at: entry.keyRange }];
}

function reportNone(doc: LocatedMap, notations: readonly NotationKeys[], report: Report): void {
  const slip = misspeltKey(doc, notations);
  if (slip !== undefined) {
    report.error('unknown-notation', slip.at, `\`${slip.key}\` is not a notation`, {
      help: `Did you mean \`${slip.near}\`?`,
    });
    return;
  }
  report.error('no-notation', headRange(doc), 'this document declares nothing to run', {
    help: startHelp(notations),
  });
}

function startHelp(notations: readonly NotationKeys[]): string {
  return `Add one of ${notations.map(({ key }) => `\`${key}\``).join(', ')}.`;
}

interface Slip {
  readonly key: string;
  readonly near: string;
  readonly at: Range;
}

/** The key that can only have been meant for a notation, at the top or in an older place. */
function misspeltKey(doc: LocatedMap, notations: readonly NotationKeys[]): Slip | undefined {
  const names = notations.flatMap(({ key, bareKeys = [] }) => [key, ...bareKeys]);
  for (const { key, keyRange, value } of doc.entries.values()) {
    if (isSectionName(key)) continue;
    const places = notations.flatMap(({ key: inner, olderPlace }) =>
      olderPlace === undefined || entryOf(value, inner) === undefined ? [] : [olderPlace],
    );
    const near = nearest(key, [...names, ...places]);
    if (near !== undefined) return { key, near, at: keyRange };
    const inside = notations.find(({ olderPlace }) => olderPlace === key);
    if (inside === undefined || value.kind !== 'map') continue;
    const inner = [...value.entries.values()].find((each) => nearest(each.key, [inside.key]) !== undefined);
    if (inner !== undefined) return { key: `${key}.${inner.key}`, near: `${key}.${inside.key}`, at: inner.keyRange };
  }
  return undefined;
}

function keyAt(doc: LocatedMap, detected: Detected): string {
  return [...doc.entries.values()].find((entry) => entry.keyRange === detected.at)?.key ?? detected.notation;
}
