/** Other spellings: documents of the source system write `StateMachine`, `LLMBased` or `Is: true`. */
import { REASONING_EFFORTS } from '@sluice-internal/kernel/ir';
import { oneOf } from '@sluice-internal/compile/document';
import type { Located } from '@sluice-internal/compile/source';

/** For each key: its names as the schema writes them. */
const NAMES = {
  Mode: ['lossless', 'window', 'lossy', 'llm', 'intent', 'hybrid'],
  Strategy: ['union', 'consensus', 'vote', 'ranked', 'semantic_diff'],
  FunctionChoice: ['auto', 'required', 'none'],
  Isolation: ['Shared', 'Fresh', 'Fork'],
  Action: ['Reinstruct', 'ActivateRecovery', 'EscalateToHuman', 'Abort', 'Skip'],
  ReasoningEffort: REASONING_EFFORTS,
  Transport: ['stdio', 'http', 'sse'],
} as const satisfies { readonly [key: string]: Names };
type Names = readonly [string, ...string[]];
const SYNONYMS: { readonly [word: string]: string } = {
  keywordbased: 'keyword',
  llmbased: 'llm',
  maxturns: 'maxiterations',
  combined: 'composite',
};
/** Keys that take the names of another key. */
const SAME_NAMES: { readonly [key: string]: string } = { ConflictResolution: 'Strategy' };
/** Maps whose values are text. */
const TEXT_MAPS: ReadonlySet<string> = new Set(['Env', 'Headers', 'DefaultHeaders']);
/** Keys of text that is also written without quotes where YAML then reads a whole number, or true or false. */
const TEXTS: ReadonlySet<string> = new Set(['Is', 'IsNot', 'Contains', 'Args', ...TEXT_MAPS]);

/**
 * The same tree with every known spelling replaced by the schema's own. The items of a list have the key of the list. `types`: the
 * names that the key `Type` takes.
 */
export function normalised(located: Located, types: Names, key = ''): Located {
  if (located.kind === 'list') return { ...located, items: located.items.map((item) => normalised(item, types, key)) };
  if (located.kind === 'map') {
    const entries = [...located.entries].map(
      ([name, entry]) =>
        [name, { ...entry, value: normalised(entry.value, types, TEXT_MAPS.has(key) ? key : name) }] as const,
    );
    return { ...located, entries: new Map(entries) };
  }
  const { value } = located;
  if (typeof value === 'string')
    return { ...located, value: named(value, key === 'Type' ? types : namesOf(key)) ?? value };
  const isPlain = typeof value === 'boolean' || Number.isSafeInteger(value);
  return TEXTS.has(key) && isPlain ? { ...located, value: String(value) } : located;
}

function namesOf(key: string): readonly string[] {
  const own = Object.hasOwn(SAME_NAMES, key) ? (SAME_NAMES[key] ?? key) : key;
  return Object.hasOwn(NAMES, own) ? NAMES[own as keyof typeof NAMES] : [];
}

function named(written: string, names: readonly string[]): string | undefined {
  const word = plain(written);
  const meant = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : word;
  return names.find((name) => plain(name) === meant);
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[\s_-]/g, '');
}

/** The published forms of names, for editors. */
const PUBLISHED =
  'Sequential RoundRobin Keyword KeywordBased Structured StateMachine Graph ScatterGather MapReduce LLM LLMBased Magentic Adversarial Regex TokenBudget MaxIterations MaxTurns Composite Combined Lossless Window Lossy Intent Hybrid Union Consensus Vote Ranked SemanticDiff Auto Required None Fresh Shared Fork Minimal Low Medium High XHigh Max Stdio Http Sse'.split(
    ' ',
  );

/** One of the names of a key. Editors accept all its spellings. */
export function spelt<Key extends keyof typeof NAMES>(key: Key) {
  return speltAs(NAMES[key]);
}

/** The same for other names. */
export function speltAs<const Some extends Names>(names: Some) {
  const isOther = (form: string): boolean => !names.includes(form) && named(form, names) !== undefined;
  return oneOf(names).meta({ enum: [...names, ...PUBLISHED.filter(isOther)] });
}
