/**
 * Which tools a sentence is about. A tool is known by its own words: the verb of its name and of its description, and the
 * things that its name, its description and its arguments speak of. A word that many tools share says little about any of them.
 */
import type { ToolDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { akin, stem, stemsIn } from './word-stem.ts';

export interface ToolWords {
  readonly name: string;
  readonly changes: boolean;
  /** Its result follows from its arguments alone, so that it shows nothing of the world. */
  readonly neutral: boolean;
  readonly verbs: readonly string[];
  /** What its name speaks of, and what the rest of its definition speaks of besides. */
  readonly named: readonly string[];
  readonly nouns: readonly string[];
  /** What its arguments are called, and what can be chosen for them. */
  readonly params: ReadonlySet<string>;
  readonly choices: readonly string[];
}

export function wordsOf(name: string, tool: ToolDef): ToolWords {
  const parts = (name.split(/[.:/]/).at(-1) ?? name)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^\p{L}\d]+/u)
    .filter((part) => part !== '');
  const [first = '', ...described] = tool.description.split(/\s+/);
  const verbs = [parts[0] ?? '', first].filter((word) => /^\p{L}+$/u.test(word)).map(stem);
  const named = stemsIn(parts.slice(1).join(' '));
  const choices = within(tool.input, ({ enum: all }) => (Array.isArray(all) ? all : []));
  const names = within(tool.input, ({ properties }) => keysOf(properties));
  const nouns = stemsIn([...parts.slice(1), ...described, ...names, ...choices].join(' '));
  return {
    name,
    changes: tool.effect !== 'read',
    neutral: tool.trust === 'neutral',
    verbs,
    named,
    nouns: nouns.filter((noun) => !verbs.includes(noun)),
    params: new Set(keysOf((tool.input as { properties?: Json } | null)?.properties)),
    choices,
  };
}

export interface Fit {
  readonly tools: readonly ToolWords[];
  /** Whether the verb is one of the tools' own. */
  readonly verb: boolean;
  readonly score: number;
}

/** The tools that fit best; several where the words do not tell them apart. */
export function fitting(verb: string | null, words: readonly string[], tools: readonly ToolWords[]): Fit {
  const same = verb === null ? [] : tools.filter(({ verbs }) => verbs.some((each) => akin(each, verb)));
  const rarity = new Map(words.map((word) => [word, 1 / tools.filter((tool) => speaksOf(tool, [word])).length]));
  const scored = (same.length > 0 ? same : tools).map((tool) => {
    const known = words.filter((word) => speaksOf(tool, [word]));
    const weight = (word: string): number => (rarity.get(word) ?? 0) * (isNamed(tool, [word]) ? 2 : 1);
    return { tool, score: known.reduce((sum, word) => sum + weight(word), 0) };
  });
  const score = Math.max(0, ...scored.map((each) => each.score));
  const best = scored.filter((each) => each.score >= score - NEAR).map(({ tool }) => tool);
  return { tools: best, verb: same.length > 0, score };
}

const NEAR = 1e-9;

/** Whether one of the words is among what the tool's definition speaks of. */
export function speaksOf({ nouns }: ToolWords, words: readonly string[]): boolean {
  return nouns.some((noun) => words.some((word) => akin(noun, word)));
}

/** Whether one of the words is in the tool's name. */
export function isNamed({ named }: ToolWords, words: readonly string[]): boolean {
  return named.some((noun) => words.some((word) => akin(noun, word)));
}

type Schema = { readonly [field: string]: Json };

/** The texts that every part of a schema gives, however deep. */
function within(schema: Json, read: (schema: Schema) => readonly Json[]): readonly string[] {
  if (schema === null || typeof schema !== 'object') return [];
  if (Array.isArray(schema)) return schema.flatMap((each) => within(each, read));
  const own = read(schema).filter((each) => typeof each === 'string');
  return [...own, ...Object.values(schema).flatMap((each) => within(each, read))];
}

function keysOf(properties: Json | undefined): readonly string[] {
  return properties !== null && typeof properties === 'object' ? Object.keys(properties) : [];
}
