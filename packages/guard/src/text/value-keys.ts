/** Keys for comparing values: those that a text makes known, and those of a searched value. */
import { cachedRead } from './cached-read.ts';
import { numberKey } from './numbers.ts';
import { valuesIn, type Stated } from './read-values.ts';

export type Keys = ReadonlySet<string>;

/** Characters of one text that are read. */
export const READ_MAX = 500_000;

/** The keys that a text makes known, each once. */
export const keysIn: (text: string) => readonly string[] = cachedRead((text) => [
  ...new Set(valuesIn(text.slice(0, READ_MAX)).flatMap(keysKnownFrom)),
]);

export function isKnown(stated: Stated, keys: ReadonlySet<string>): boolean {
  if (stated.kind === 'date' && stated.year !== undefined) {
    const dated = datesOf(stated);
    if (dated.some((key) => keys.has(`date ${stated.year}-${key}`))) return true;
    // The year counts where an observation or a person gave one for that day.
    return dated.some((key) => keys.has(`date ${key}`) && !keys.has(`dated ${key}`));
  }
  return keysOf(stated).some((key) => keys.has(key));
}

/** The keys under which a value may be known. An amount is also a number. */
function keysOf({ kind, key, others = [] }: Stated): readonly string[] {
  const all = [key, ...others];
  if (kind === 'amount' || kind === 'number' || kind === 'quantity' || kind === 'percent')
    return all.flatMap((each) => [`number ${each}`, `id ${each}`]);
  if (kind === 'date') return all.map((each) => `date ${each}`);
  return kind === 'id' && /^\d+$/.test(key) ? [`id ${key}`, `number ${numberKey(key)}`] : [`${kind} ${key}`];
}

function datesOf({ key, others = [] }: Stated): readonly string[] {
  return [key, ...others];
}

/** The keys that a value makes known: an identifier also its numbered parts, an e-mail address also its name, a URL also the values in it. */
export function keysKnownFrom(stated: Stated): readonly string[] {
  if (stated.kind === 'date' && stated.year !== undefined)
    return datesOf(stated).flatMap((key) => [
      `date ${key}`,
      `dated ${key}`,
      `date ${stated.year}-${key}`,
      `date ${stated.year}-${key.split('/')[0]}`,
    ]);
  if (stated.kind !== 'id') return keysOf(stated);
  if (stated.key.startsWith('http'))
    return [
      `id ${stated.key}`,
      ...stated.key.split(/[/?&=#]/).flatMap((part) => valuesIn(part).flatMap(keysKnownFrom)),
    ];
  const parts = stated.key.split(/[_@-]/).filter((part) => /\d/.test(part));
  const name = stated.key.split('@')[0] ?? '';
  return [stated.key, name, ...parts].flatMap((key) => keysOf({ ...stated, key }));
}
