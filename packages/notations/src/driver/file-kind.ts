/** Tells documents, scripts and suites apart, so that a file in the place of another gets one error instead of one for each key. */
import { childOf, headRange } from '@sluice-internal/compile/source';
import type { Located, Report } from '@sluice-internal/compile/source';
import { NOTATIONS } from './registry.ts';

type FileKind = 'document' | 'script' | 'suite';

/** Reports a file of another kind than the wanted one. True if it did. */
export function refuseOtherKind(doc: Located, wanted: FileKind, report: Report): boolean {
  const kind = (['document', 'script', 'suite'] as const).find((each) => SIGNS[each](doc));
  if (kind === undefined || kind === wanted) return false;
  report.error(CODES[wanted], headRange(doc), `this is a ${kind}, not a ${wanted}`, { help: HELP[wanted][kind] });
  return true;
}

const CODES = { document: 'no-notation', script: 'bad-script', suite: 'bad-suite' } as const;

const RUN_SUITE = 'Run a suite with `sluice eval FILE`.';
const HELP: { readonly [wanted in FileKind]: { readonly [kind in FileKind]?: string } } = {
  document: { script: 'Run a document with it: `sluice run DOCUMENT --script FILE`.', suite: RUN_SUITE },
  script: {
    document: 'A script has replies under `agents`, `tools` and `approvals`. Name one after `--script`.',
    suite: RUN_SUITE,
  },
  suite: {
    document: 'Write a suite: `flow:` with the path of this file, and `cases:`.',
    script: 'Write a suite: `flow:` with the path of a document, and `cases:` that name this file under `script:`.',
  },
};

const SIGNS: { readonly [kind in FileKind]: (doc: Located) => boolean } = {
  suite: (doc) => hasCases(doc) && !hasNotation(doc),
  document: (doc) => hasNotation(doc) && !hasCases(doc),
  script: (doc) => {
    if (doc.kind !== 'map' || ![...doc.entries.keys()].every((key) => SCRIPT_KEYS.has(key))) return false;
    return [...doc.entries.values()].some(({ key, value }) => !SHARED.has(key) || hasReplies(value));
  },
};

function hasCases(doc: Located): boolean {
  return childOf(doc, 'cases')?.kind === 'list';
}

/** A suite has `flow` too, as the path of a file. */
function hasNotation(doc: Located): boolean {
  const keys = NOTATIONS.flatMap(({ key, bareKeys = [] }) => [key, ...bareKeys]);
  return keys.some((key) => (childOf(doc, key) ?? { kind: 'scalar' }).kind !== 'scalar');
}

/** Sections that a document has too. */
const SHARED: ReadonlySet<string> = new Set(['agents', 'tools']);
const SCRIPT_KEYS: ReadonlySet<string> = new Set([...SHARED, 'approvals', 'signals', 'clock', 'strict']);

/** In a script, an agent or a tool has a list of replies, or one text. */
function hasReplies(section: Located): boolean {
  return section.kind === 'map' && [...section.entries.values()].some(({ value }) => value.kind !== 'map');
}
