/**
 * Functions on text. Positions count code points, as in CEL. For null, predicates return false and all others return null.
 */
import { charge, chargeText } from './context.ts';
import type { Env } from './context.ts';
import { EvalError } from './error.ts';
import { wrongType } from './function.ts';
import type { Fn, FnTable, Kind } from './function.ts';
import { includesText, splitText } from './text-search.ts';
import { textOf } from './output.ts';
import { Uint, isList } from './value.ts';
import type { Value } from './value.ts';

const STRING: readonly Kind[] = ['string'];
const NUMBER: readonly Kind[] = ['number'];
const LIST: readonly Kind[] = ['list'];

export const TEXT_FUNCTIONS: FnTable = {
  contains: predicate('contains', 'method', includesText),
  startsWith: predicate('startsWith', 'method', (s, t) => s.startsWith(t)),
  endsWith: predicate('endsWith', 'method', (s, t) => s.endsWith(t)),
  containsIgnoreCase: predicate('containsIgnoreCase', 'both', (s, t) => includesText(s.toLowerCase(), t.toLowerCase())),
  lower: transform('lower', 'both', (s) => s.toLowerCase()),
  lowerAscii: transform('lowerAscii', 'method', (s) => s.replace(/[A-Z]+/g, (run) => run.toLowerCase())),
  upperAscii: transform('upperAscii', 'method', (s) => s.replace(/[a-z]+/g, (run) => run.toUpperCase())),
  trim: transform('trim', 'both', (s) => s.replace(OUTER_SPACE, '')),
  reverse: transform('reverse', 'method', (s, env) => points(env, s).reverse().join('')),
  lines: onText('lines', [], 'list', (env, s) => pieces(env, s.split(/\r\n|\n|\r/)), { forms: 'both' }),
  charAt: onText('charAt', [NUMBER], 'string', (env, s, at) => {
    const from = place('charAt', at);
    return slice(env, s, from, from + 1, true);
  }),
  substring: onText(
    'substring',
    [NUMBER, NUMBER],
    'string',
    (env, s, from, to) => slice(env, s, place('substring', from), optionalPlace('substring', to), false),
    { required: 2 },
  ),
  indexOf: searching('indexOf', find),
  lastIndexOf: searching('lastIndexOf', findLast),
  replace: onText(
    'replace',
    [STRING, STRING, NUMBER],
    'string',
    (env, s, from, to, limit) =>
      replace(env, s, text(env, 'replace', from), text(env, 'replace', to), optionalPlace('replace', limit) ?? -1),
    { required: 3 },
  ),
  split: onText(
    'split',
    [STRING, NUMBER],
    'list',
    (env, s, separator, limit) => split(env, s, text(env, 'split', separator), optionalPlace('split', limit) ?? -1),
    { required: 2 },
  ),
  join: {
    params: [LIST, STRING],
    required: 1,
    forms: 'both',
    returns: 'string',
    run: (env, list, separator) => join(env, list, separator),
  },
};

function predicate(name: string, forms: Fn['forms'], test: (s: string, t: string) => boolean): Fn {
  return {
    params: [STRING, STRING],
    forms,
    returns: 'bool',
    run: (env, a, b = null) => a !== null && b !== null && test(text(env, name, a), text(env, name, b)),
  };
}

function transform(name: string, forms: Fn['forms'], change: (s: string, env: Env) => string): Fn {
  return onText(name, [], 'string', (env, s) => change(s, env), { forms });
}

/** A function of a text and further arguments. */
function onText(
  name: string,
  params: readonly (readonly Kind[])[],
  returns: Kind,
  run: (env: Env, s: string, ...rest: readonly (Value | undefined)[]) => Value,
  { forms = 'method', ...more }: Partial<Pick<Fn, 'forms' | 'required'>> = {},
): Fn {
  return {
    params: [STRING, ...params],
    ...more,
    forms,
    returns,
    run: (env, a, ...rest) => (a === null ? null : run(env, text(env, name, a), ...rest)),
  };
}

type Search = (env: Env, s: readonly string[], t: readonly string[], from: number | undefined) => bigint;

function searching(name: string, search: Search): Fn {
  const run = (env: Env, s: string, t?: Value, from?: Value): bigint =>
    search(env, points(env, s), points(env, text(env, name, t)), optionalPlace(name, from));
  return onText(name, [STRING, NUMBER], 'number', run, { required: 2 });
}

/**
 * White space as Unicode defines it; the host's own `trim` also takes U+FEFF and leaves U+0085. Each run of white space is looked at
 * from its start only, so that a search takes linear time.
 */
const OUTER_SPACE = /^\p{White_Space}+|(?<!\p{White_Space})\p{White_Space}+$/gu;

function text(env: Env, name: string, value: Value | undefined): string {
  if (typeof value !== 'string') throw wrongType(name, 'a string', value);
  chargeText(env, value.length);
  return value;
}

function place(name: string, value: Value | undefined): number {
  const n = value instanceof Uint ? value.value : value;
  if ((typeof n !== 'number' && typeof n !== 'bigint') || !Number.isInteger(Number(n)))
    throw wrongType(name, 'a whole number', value);
  return Number(n);
}

function optionalPlace(name: string, value: Value | undefined): number | undefined {
  return value === undefined ? undefined : place(name, value);
}

/** One string per code point; a plain split where there are no surrogates. */
function points(env: Env, s: string): string[] {
  charge(env, s.length);
  return /[\ud800-\udfff]/.test(s) ? Array.from(s) : s.split('');
}

function pieces(env: Env, parts: string[]): string[] {
  charge(env, parts.length);
  return parts;
}

function slice(env: Env, s: string, from: number, to: number | undefined, lenient: boolean): string {
  const all = points(env, s);
  const end = to ?? all.length;
  if (lenient && from === all.length) return '';
  if (from < 0 || end < from || end > all.length) throw outOfRange(all);
  return all.slice(from, end).join('');
}

function find(env: Env, s: readonly string[], t: readonly string[], first = 0): bigint {
  if (first < 0 || first > s.length) throw outOfRange(s);
  for (let i = first; i + t.length <= s.length; i++) if (matchesAt(s, t, i, env)) return BigInt(i);
  return -1n;
}

function findLast(env: Env, s: readonly string[], t: readonly string[], last = s.length): bigint {
  if (last < 0 || last > s.length) throw outOfRange(s);
  for (let i = Math.min(last, s.length - t.length); i >= 0; i--) if (matchesAt(s, t, i, env)) return BigInt(i);
  return -1n;
}

function outOfRange(s: readonly string[]): EvalError {
  return new EvalError('other', `position out of range: the text has ${s.length} characters`);
}

function matchesAt(s: readonly string[], t: readonly string[], at: number, env: Env): boolean {
  let i = 0;
  while (i < t.length && s[at + i] === t[i]) i++;
  charge(env, 1 + i);
  return i === t.length;
}

function replace(env: Env, s: string, from: string, to: string, limit: number): string {
  if (limit === 0) return s;
  const parts = from === '' ? ['', ...points(env, s), ''] : pieces(env, splitText(s, from));
  const kept =
    limit < 0 || parts.length - 1 <= limit ? parts : [...parts.slice(0, limit), parts.slice(limit).join(from)];
  chargeText(env, s.length + kept.length * to.length);
  return kept.join(to);
}

function split(env: Env, s: string, separator: string, limit: number): string[] {
  if (limit === 0) return [];
  const parts = separator === '' ? points(env, s) : pieces(env, splitText(s, separator));
  return limit < 0 || parts.length <= limit
    ? parts
    : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function join(env: Env, list: Value, separator: Value | undefined): Value {
  if (list === null) return null;
  if (!isList(list)) throw wrongType('join', 'a list', list);
  const between = separator === undefined || separator === null ? '' : text(env, 'join', separator);
  const parts = list.map((item) => textOf(env, item));
  chargeText(env, parts.length * between.length);
  return parts.join(between);
}

/**
 * Phrases on a line of their own. Letter case does not matter. `*` and `_` are trimmed at the ends of a line only, so a
 * phrase may contain them.
 */
export const PHRASE_FUNCTIONS: FnTable = {
  /** The phrases that are a whole line, or that begin one and end before white space or punctuation. The longest of each line counts. */
  leading: phrases('leading', true),
  /** The phrases that are a whole line. */
  alone: phrases('alone', false),
  /** Lines that nearly say a phrase, as pairs of the phrase and the line. For corrections only: such a line takes no route. */
  nearly: {
    params: [['string'], ['list']],
    forms: 'both',
    returns: 'list',
    run: (env, a, b = null) => {
      if (a === null || b === null) return [];
      if (!isList(b)) throw wrongType('nearly', 'a list of phrases', b);
      const wanted = b.map((each) => ({ phrase: each, words: wordsOf(phraseOf('nearly', each)) }));
      const found: Value[] = [];
      for (const line of linesOf(env, 'nearly', a)) {
        const said = wordsOf(line.toLowerCase());
        charge(env, said.length * wanted.length);
        const near = wanted.find(({ words }) => containsWords(said, words) || isMisspelt(env, said, words));
        if (near !== undefined && found.length < NEAR_MAX) found.push([near.phrase, line.trim().slice(0, LINE_MAX)]);
      }
      return found;
    },
  },
  /** The last line that is not empty, trimmed; null if every line is empty. */
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

/** A phrase that is the beginning of a longer match does not count. */
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

const NEAR_MAX = 3;
const LINE_MAX = 80;

/** Runs of letters and digits: the same for `## GO`, `HAND_OFF` and `[GO]`. */
function wordsOf(line: string): readonly string[] {
  return line.match(/[\p{L}\p{N}]+/gu) ?? [];
}

function containsWords(said: readonly string[], wanted: readonly string[]): boolean {
  return wanted.length > 0 && ` ${said.join(' ')} `.includes(` ${wanted.join(' ')} `);
}

/** A whole line that differs from the phrase in few letters. */
function isMisspelt(env: Env, said: readonly string[], wanted: readonly string[]): boolean {
  const [a, b] = [said.join(''), wanted.join('')];
  const most = Math.floor(b.length / 6);
  if (most === 0 || Math.abs(a.length - b.length) > most) return false;
  charge(env, a.length * b.length);
  return distance(a, b) <= most;
}

/** Letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
