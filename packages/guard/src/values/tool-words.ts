/**
 * Matches a sentence with tools by their words: the verb of the name and of the description, and the nouns of the name, the
 * description and the arguments. A word counts less the more tools share it.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, ToolDef } from '@sluice-internal/kernel/ir';
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { isSameStem, isSame, stem, stemsIn } from './words.ts';

export interface ToolWords {
  readonly name: string;
  readonly changes: boolean;
  /** The result follows from the arguments alone, as with a calculator. */
  readonly neutral: boolean;
  readonly verbs: readonly string[];
  /** Nouns of the name, and nouns of the whole definition. */
  readonly named: readonly string[];
  readonly nouns: readonly string[];
  /** Names of the arguments, and the values that their schemas allow. */
  readonly params: ReadonlySet<string>;
  readonly choices: readonly string[];
}

/** The words of the tools of a flow with these names. */
export function toolWords(names: unknown, { tools }: Pick<CompiledFlow, 'tools'>): readonly ToolWords[] {
  return (listOf(names) as readonly string[]).flatMap((name) =>
    tools[name] === undefined ? [] : [wordsOf(name, tools[name])],
  );
}

export function wordsOf(name: string, tool: ToolDef): ToolWords {
  const spaced = name.replace(/([a-z\d])([A-Z])/g, '$1 $2');
  const sections = spaced.split(/[.:/]/);
  // The verb comes first in `search_logs`, and last in `logs.search`.
  const parts = [sections.at(-1) ?? spaced, ...sections.slice(0, -1)]
    .flatMap((section) => section.split(/[^\p{L}\d]+/u))
    .filter((part) => part !== '');
  const [first = '', ...described] = tool.description.split(/\s+/);
  const verbs = [parts[0] ?? '', first].filter((word) => /^\p{L}+$/u.test(word)).map(stem);
  const named = stemsIn(parts.slice(1).join(' '));
  const choices = within(tool.input, ({ enum: all }) => (Array.isArray(all) ? all : []));
  const names = within(tool.input, ({ properties }) => keysOf(properties));
  const nouns = stemsIn([...parts.slice(1), ...described, ...names, ...choices].join(' '));
  return {
    name,
    changes: !onlyReads(tool.effect),
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
  /** The verb is a verb of these tools. */
  readonly verb: boolean;
  readonly score: number;
}

/** The tools that fit best; several where the words fit them equally. */
export function fitting(verb: string | null, words: readonly string[], tools: readonly ToolWords[]): Fit {
  const same = verb === null ? [] : tools.filter(({ verbs }) => verbs.some((each) => isSame(each, verb)));
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

/** One of the words occurs in the tool's definition. */
export function speaksOf({ nouns }: ToolWords, words: readonly string[]): boolean {
  return nouns.some((noun) => words.some((word) => isSameStem(noun, word)));
}

/** One of the words occurs in the tool's name. */
export function isNamed({ named }: ToolWords, words: readonly string[]): boolean {
  return named.some((noun) => words.some((word) => isSameStem(noun, word)));
}

type Schema = { readonly [field: string]: Json };

/** The texts that `read` finds in any part of a schema. */
function within(schema: Json, read: (schema: Schema) => readonly Json[]): readonly string[] {
  if (schema === null || typeof schema !== 'object') return [];
  if (Array.isArray(schema)) return schema.flatMap((each) => within(each, read));
  const own = read(schema).filter((each) => typeof each === 'string');
  return [...own, ...Object.values(schema).flatMap((each) => within(each, read))];
}

function keysOf(properties: Json | undefined): readonly string[] {
  return properties !== null && typeof properties === 'object' ? Object.keys(properties) : [];
}
