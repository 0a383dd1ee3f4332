/**
 * `policy:bind`: fills in the references of an answer. `{{obs.2.total}}` is the field `total` of the second observation of the
 * run. Where values must be bound, a literal amount, date, identifier, name or number that no person gave is refused.
 */
import { listOf, mapTexts } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { even, flat, structured } from '../text/sources.ts';
import { valuesIn } from '../text/read-values.ts';

const REFERENCE = /\{\{\s*obs\.(\d+)((?:\.[^\s{}.]+)*)\s*\}\}/g;
const SHOWN_MAX = 5;
/** Numbers up to here come from counting. */
const SMALL_MAX = 12;

export function checkBound({ command }: Call): Json {
  const { text: given, observations, bound, userTexts = null } = command.input;
  const text = typeof given === 'string' ? given : flat(given ?? null);
  const seen = listOf(observations) as readonly { readonly result?: Json }[];
  const missing: string[] = [];
  const read = (written: string, number: string, path: string): Json => {
    const value = fieldOf(seen[Number(number) - 1]?.result, path.split('.').slice(1));
    if (value === undefined) missing.push(written);
    return value ?? null;
  };
  const filled = fill(text, read);
  if (missing.length > 0) {
    const names = [...new Set(missing)].slice(0, SHOWN_MAX).join(', ');
    return {
      ok: false,
      text,
      reason: `the answer refers to ${names}, and there is no such field among ${seen.length} observations`,
    };
  }
  const stray = bound === true ? strayIn(text.replace(REFERENCE, ' '), seen, flat(userTexts)) : [];
  if (stray.length === 0) return { ok: true, text: filled };
  const names = stray.slice(0, SHOWN_MAX).join(', ');
  return { ok: false, text, reason: `the answer states ${names} literally: write {{obs.N.field}} instead` };
}

type Read = (written: string, number: string, path: string) => Json;

/** In JSON, a string that is one reference becomes the value itself. */
function fill(text: string, read: Read): string {
  const data = structured(text);
  if (typeof data === 'string') return filledText(text, read);
  const filled = mapTexts(data, (part) => {
    const [only] = [...part.matchAll(REFERENCE)];
    if (only !== undefined && only[0] === part.trim()) return read(only[0], only[1] ?? '', only[2] ?? '');
    return filledText(part, read);
  });
  return JSON.stringify(filled);
}

function filledText(text: string, read: Read): string {
  return text.replace(REFERENCE, (written, number: string, path: string) => {
    const value = read(written, number, path);
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** Undefined if there is no such field. Results that are JSON text are parsed. */
function fieldOf(result: Json | undefined, path: readonly string[]): Json | undefined {
  let value: Json | undefined = result;
  for (const key of path) {
    const data: Json = structured(value ?? null);
    if (data === null || typeof data !== 'object') return undefined;
    value = Array.isArray(data) ? data[Number(key)] : Object.hasOwn(data, key) ? data[key] : undefined;
  }
  return value;
}

/** Values and texts of observations that the answer states literally, and that no person gave. */
function strayIn(text: string, seen: readonly { readonly result?: Json }[], userTexts: string): readonly string[] {
  const given = new Set(valuesIn(userTexts).map(({ kind, key }) => `${kind} ${key}`));
  const values = valuesIn(text).filter(
    ({ kind, key }) => !given.has(`${kind} ${key}`) && !(kind === 'number' && Number(key) <= SMALL_MAX),
  );
  const plain = ` ${even(text)} `;
  const names = seen
    .flatMap(({ result = null }) => flat(structured(result)).split('\n'))
    .filter((each) => NAME.test(each) && plain.includes(` ${even(each)}`) && !even(userTexts).includes(even(each)));
  return [...new Set([...values.map((each) => each.text), ...names])];
}

/** A text that can be a name: up to five words, the first with a capital. */
const NAME = /^\p{Lu}[\p{L}'’-]+(?: [\p{L}'’.-]+){0,4}$/u;
