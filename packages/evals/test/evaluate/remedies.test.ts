/** Every key that a remedy names is a key of the document in the notation of the run. */
import { expect, test } from 'vitest';
import { documentSchema } from '@sluice-internal/compile/document';
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CASES, plantedRun } from './planted.ts';

/** The key of each notation in a document. */
const KEYS = { flow: 'flow', workflow: 'workflow', orchestration: 'Orchestration', staged: 'staged', loop: 'loop' };
const schema = JSON.parse(JSON.stringify(documentSchema(NOTATIONS))) as { readonly [key: string]: Json };

/** The names of all fields, and all words that a field may have as its value. */
function wordsOf(notation: keyof typeof KEYS): ReadonlySet<string> {
  const [words, seen] = [new Set<string>(), new Set<Json>()];
  const visit = (value: Json): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (Array.isArray(value)) return value.forEach(visit);
    const { $ref: ref, properties, enum: choices, const: only } = value;
    if (typeof ref === 'string')
      visit((schema['$defs'] as { [id: string]: Json })[ref.slice('#/$defs/'.length)] ?? null);
    if (isRecord(properties)) Object.keys(properties).forEach((key) => words.add(key));
    for (const choice of [...(Array.isArray(choices) ? choices : []), only])
      if (typeof choice === 'string') words.add(choice);
    Object.entries(value).forEach(([key, each]) => (key === '$defs' ? undefined : visit(each)));
  };
  for (const branch of schema['anyOf'] as Json[])
    if (isRecord(branch) && isRecord(branch['properties']) && KEYS[notation] in branch['properties']) visit(branch);
  return words;
}
const WORDS = Object.fromEntries(
  Object.keys(KEYS).map((notation) => [notation, wordsOf(notation as keyof typeof KEYS)]),
);

/** `a.b`, and the keys of `a: { b: c }`. The text of expressions is left out. */
function keysIn(fragment: string): readonly string[] {
  const bare = fragment.replaceAll(/"[^"]*"/g, '');
  const keys = [...bare.matchAll(/([A-Za-z_.]+)\s*(?=:)/g)].map(([, key = '']) => key);
  return (keys.length > 0 ? keys : bare.split(/[{},\s]+/)).flatMap((key) => key.split('.')).filter((key) => key !== '');
}

test.each(Object.keys(CASES))('%s', async (id) => {
  const { tools, remedyIn } = await plantedRun(id);
  for (const notation of Object.keys(KEYS)) {
    const remedy = remedyIn(notation);
    expect(remedy).not.toBe('');
    const known = (key: string): boolean =>
      WORDS[notation]?.has(key) === true ||
      tools.includes(key) ||
      (remedy.includes('`loop:`') && WORDS['loop']?.has(key) === true);
    const named = [...remedy.matchAll(/`([^`]+)`/g)].flatMap(([, fragment = '']) => keysIn(fragment));
    expect({ notation, remedy, unknown: named.filter((key) => !known(key)) }).toEqual({
      notation,
      remedy,
      unknown: [],
    });
  }
});
