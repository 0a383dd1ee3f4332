/** Other spellings: documents of the source system write `StateMachine`, `LLMBased` or `Is: true`. */
import { REASONING_EFFORTS } from '../../../ir/nodes.ts';
import { oneOf } from '../../document/shape/fields.ts';
import type { Located } from '../../source/located.ts';

/** For each key: its names as the schema writes them. */
const NAMES = {
  Type: [
    'sequential',
    'roundrobin',
    'keyword',
    'structured',
    'statemachine',
    'graph',
    'scattergather',
    'mapreduce',
    'llm',
    'magentic',
    'adversarial',
    'regex',
    'maxiterations',
    'tokenbudget',
    'composite',
  ],
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

/** The same tree with every known spelling replaced by the schema's own. The items of a list have the key of the list. */
export function normalised(located: Located, key = ''): Located {
  if (located.kind === 'list') return { ...located, items: located.items.map((item) => normalised(item, key)) };
  if (located.kind === 'map') {
    const entries = [...located.entries].map(
      ([name, entry]) => [name, { ...entry, value: normalised(entry.value, TEXT_MAPS.has(key) ? key : name) }] as const,
    );
    return { ...located, entries: new Map(entries) };
  }
  const { value } = located;
  if (typeof value === 'string') return { ...located, value: named(value, key) ?? value };
  const isPlain = typeof value === 'boolean' || Number.isSafeInteger(value);
  return TEXTS.has(key) && isPlain ? { ...located, value: String(value) } : located;
}

function named(written: string, key: string): string | undefined {
  const own = Object.hasOwn(SAME_NAMES, key) ? (SAME_NAMES[key] ?? key) : key;
  if (!Object.hasOwn(NAMES, own)) return undefined;
  const names: Names = NAMES[own as keyof typeof NAMES];
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
  return speltAs(key, NAMES[key]);
}

/** The same for some names of a key. */
export function speltAs<const Some extends Names>(key: keyof typeof NAMES, names: Some) {
  const isOther = (form: string): boolean => !names.includes(form) && names.includes(named(form, key) ?? '');
  return oneOf(names).meta({ enum: [...names, ...PUBLISHED.filter(isOther)] });
}
