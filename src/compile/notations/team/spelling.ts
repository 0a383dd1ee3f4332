/** Other spellings of type names: documents of the source system write `StateMachine`, `LLMBased` or `Combined`. */
import type { Located } from '../../source/located.ts';

/** For each key: the names in lower case, with the name that the schema knows. */
const SPELLINGS: { readonly [key: string]: { readonly [spelling: string]: string } } = {
  Type: {
    sequential: 'sequential',
    roundrobin: 'roundrobin',
    keyword: 'keyword',
    keywordbased: 'keyword',
    structured: 'structured',
    statemachine: 'statemachine',
    graph: 'graph',
    scattergather: 'scattergather',
    mapreduce: 'mapreduce',
    llm: 'llm',
    llmbased: 'llm',
    magentic: 'magentic',
    adversarial: 'adversarial',
    regex: 'regex',
    maxiterations: 'maxiterations',
    maxturns: 'maxiterations',
    tokenbudget: 'tokenbudget',
    composite: 'composite',
    combined: 'composite',
  },
  Mode: { lossless: 'lossless', window: 'window', lossy: 'lossy', llm: 'llm', intent: 'intent', hybrid: 'hybrid' },
  Strategy: {
    union: 'union',
    consensus: 'consensus',
    vote: 'vote',
    ranked: 'ranked',
    semanticdiff: 'semantic_diff',
  },
  FunctionChoice: { auto: 'auto', required: 'required', none: 'none' },
  Isolation: { shared: 'Shared', fresh: 'Fresh', fork: 'Fork' },
  Action: {
    reinstruct: 'Reinstruct',
    activaterecovery: 'ActivateRecovery',
    escalatetohuman: 'EscalateToHuman',
    abort: 'Abort',
    skip: 'Skip',
  },
};

/** The same tree with every known spelling replaced by the schema's own. */
export function normalised(located: Located, key = ''): Located {
  if (located.kind === 'list') return { ...located, items: located.items.map((item) => normalised(item)) };
  if (located.kind === 'map') {
    const entries = [...located.entries].map(
      ([name, entry]) => [name, { ...entry, value: normalised(entry.value, name) }] as const,
    );
    return { ...located, entries: new Map(entries) };
  }
  const known = Object.hasOwn(SPELLINGS, key) ? SPELLINGS[key] : undefined;
  if (known === undefined || typeof located.value !== 'string') return located;
  const plain = located.value.toLowerCase().replace(/[\s_-]/g, '');
  const name = Object.hasOwn(known, plain) ? known[plain] : undefined;
  return name === undefined ? located : { ...located, value: name };
}

/** The published forms of names, for editors. */
const PUBLISHED =
  'Sequential RoundRobin Keyword KeywordBased Structured StateMachine Graph ScatterGather MapReduce LLM LLMBased Magentic Adversarial Regex TokenBudget MaxIterations MaxTurns Composite Combined Lossless Window Lossy Intent Hybrid Union Consensus Vote Ranked SemanticDiff Auto Required None Fresh Shared Fork'.split(
    ' ',
  );

/** All accepted spellings of some names of a key. */
export function spellings(key: string, names: readonly string[]): string[] {
  const known = SPELLINGS[key] ?? {};
  return [...names, ...PUBLISHED.filter((form) => names.includes(known[form.toLowerCase()] ?? ''))];
}
