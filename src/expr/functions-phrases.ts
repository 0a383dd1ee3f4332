/**
 * Phrases that stand on a line of their own in a text, as somebody writes who means them as a mark and not as part of a
 * sentence. Letter case does not matter. `*` and `_` are trimmed at the ends of a line only, so that a phrase may hold them.
 */
import { charge, chargeText } from './env.ts';
import type { Env } from './env.ts';
import { wrongType } from './function.ts';
import type { Fn, FnTable } from './function.ts';
import { isList } from './value.ts';
import type { Value } from './value.ts';

export const PHRASE_FUNCTIONS: FnTable = {
  /** Of the phrases, those that are a whole line or begin one, before white space or punctuation; the longest of each line. */
  leading: phrases('leading', true),
  /** Of the phrases, those that are a whole line. */
  alone: phrases('alone', false),
  /** The last line that is not empty, trimmed; null where there is none. */
  lastLine: {
    params: [['string']],
    forms: 'both',
    returns: 'string',
    run: (env, a) => {
      if (a === null) return null;
      const found = linesOf(env, 'lastLine', a)
        .map((line) => line.trim())
        .filter((line) => line !== '');
      return found.at(-1) ?? null;
    },
  },
};

function phrases(name: string, begins: boolean): Fn {
  return {
    params: [['string'], ['list']],
    forms: 'both',
    returns: 'list',
    run: (env, a, b = null) => {
      if (a === null || b === null) return [];
      if (!isList(b)) throw wrongType(name, 'a list of phrases', b);
      const wanted = b.map((each) => phraseOf(name, each));
      const found = new Set<number>();
      for (const line of linesOf(env, name, a)) {
        charge(env, 1 + wanted.length);
        const at = longestOn(line, wanted, begins);
        if (at >= 0) found.add(at);
      }
      return b.filter((_, index) => found.has(index));
    },
  };
}

function phraseOf(name: string, value: Value): string {
  if (typeof value !== 'string') throw wrongType(name, 'a list of phrases', value);
  return value.trim().toLowerCase();
}

function linesOf(env: Env, name: string, value: Value): string[] {
  if (typeof value !== 'string') throw wrongType(name, 'a string', value);
  chargeText(env, value.length);
  return value.split(/\r\n|\n|\r/);
}

/** A phrase that only begins what a longer one says in full does not count beside it. */
function longestOn(line: string, wanted: readonly string[], begins: boolean): number {
  const forms = formsOf(line);
  let best = -1;
  wanted.forEach((phrase, index) => {
    if (phrase === '' || (best >= 0 && phrase.length <= (wanted[best]?.length ?? 0))) return;
    if (forms.some((form) => form === phrase || (begins && isFollowed(form, phrase)))) best = index;
  });
  return best;
}

function formsOf(line: string): readonly string[] {
  const whole = line.trim().toLowerCase();
  let [from, to] = [0, whole.length];
  while (from < to && isEdge(whole.charAt(from))) from++;
  while (to > from && isEdge(whole.charAt(to - 1))) to--;
  return from === 0 && to === whole.length ? [whole] : [whole, whole.slice(from, to)];
}

function isEdge(char: string): boolean {
  return char === '*' || char === '_' || char.trim() === '';
}

/** Marks that close an emphasis belong to the phrase; after them the word must be over. */
function isFollowed(line: string, phrase: string): boolean {
  if (!line.startsWith(phrase)) return false;
  const rest = line.slice(phrase.length).replace(/^[*_]+/, '');
  return rest === '' || /^[\s\p{P}]/u.test(rest);
}
