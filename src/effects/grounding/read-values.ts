/** Reads the values of a text: identifiers, dates, times, amounts of money and other numbers, each in one normal form. */

export interface Stated {
  readonly kind: 'id' | 'date' | 'time' | 'amount' | 'number';
  /** The normal form, for comparison. */
  readonly key: string;
  /** The value as written. */
  readonly text: string;
}

export function valuesIn(text: string): readonly Stated[] {
  const found: Stated[] = [];
  let rest = text.normalize('NFKC').replace(/[*`]/g, ' ');
  // A reader removes what it read: the year of a date is not also a number.
  for (const { kind, pattern, read } of READERS)
    rest = rest.replace(pattern, (...args: unknown[]) => {
      const written = String(args[0]);
      const key = read(written, (args.at(-1) ?? {}) as Groups);
      if (key === null) return written;
      found.push({ kind, key, text: written.trim() });
      return ' ; ';
    });
  return found;
}

/** `10,000.50` and `10000.5` are the same number. */
export function numberKey(text: string): string {
  return String(Number(text.replaceAll(',', '')));
}

interface Groups {
  readonly [name: string]: string | undefined;
}
interface Reader {
  readonly kind: Stated['kind'];
  readonly pattern: RegExp;
  /** Null if the match is not a value of this kind. */
  readonly read: (text: string, groups: Groups) => string | null;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = `(?<m>(?:${MONTHS.join('|')})[a-z]*)`;
const YEAR = '(?:,?\\s+\\d{4}\\b)?';
const DAY = '(?<d>\\d{1,2})(?:st|nd|rd|th)?';
const AMOUNT = '(?<n>(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?)';

const READERS: readonly Reader[] = [
  {
    kind: 'date',
    pattern: /\b\d{4}-(?<m>\d{2})-(?<d>\d{2})(?=T|\b)(?<z>)/g,
    read: (_, g) => dateKey(Number(g['m']), g['d']),
  },
  {
    kind: 'date',
    pattern: new RegExp(`\\b${MONTH}\\.?\\s+${DAY}\\b${YEAR}`, 'gi'),
    read: (_, g) => dateKey(monthOf(g['m']), g['d']),
  },
  {
    kind: 'date',
    pattern: new RegExp(`\\b${DAY}\\s+(?:of\\s+)?${MONTH}\\b${YEAR}`, 'gi'),
    read: (_, g) => dateKey(monthOf(g['m']), g['d']),
  },
  {
    kind: 'time',
    pattern: /\b(?<h>\d{1,2}):(?<n>\d{2})(?::\d{2})?(?:\.\d+)?(?:\s*(?<p>[ap])\.?m\b\.?)?/gi,
    read: (_, g) => timeKey(g),
  },
  { kind: 'time', pattern: /\b(?<h>\d{1,2})\s*(?<p>[ap])\.?m\b\.?/gi, read: (_, g) => timeKey(g) },
  { kind: 'amount', pattern: new RegExp(`[$€£]\\s*${AMOUNT}`, 'g'), read: (_, g) => numberKey(g['n'] ?? '') },
  {
    kind: 'amount',
    pattern: new RegExp(`\\b${AMOUNT}\\s*(?:dollars|usd|eur|euros)\\b`, 'gi'),
    read: (_, g) => numberKey(g['n'] ?? ''),
  },
  {
    kind: 'id',
    pattern: /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}][\p{L}\p{N}._%+-]*@[\p{L}\p{N}.-]+\.\p{L}{2,}/gu,
    read: (text) => text.toLowerCase(),
  },
  {
    kind: 'id',
    pattern: /[\p{L}\p{N}]+(?:[_-][\p{L}\p{N}]+)*/gu,
    read: (text) => (isId(text) ? text.toLowerCase() : null),
  },
  {
    kind: 'number',
    pattern: new RegExp(`(?<![\\p{L}\\d.])${AMOUNT}(?![\\p{L}\\d])`, 'gu'),
    read: (_, g) => numberKey(g['n'] ?? ''),
  },
];

function monthOf(name: string | undefined): number {
  return MONTHS.indexOf((name ?? '').slice(0, 3).toLowerCase()) + 1;
}

function dateKey(month: number, day: string | undefined): string | null {
  const of = Number(day);
  return month < 1 || month > 12 || of < 1 || of > 31 ? null : `${month}/${of}`;
}

function timeKey({ h, n = '00', p }: Groups): string | null {
  const said = Number(h);
  const hour = p === undefined ? said : (said % 12) + (p.toLowerCase() === 'p' ? 12 : 0);
  return hour > 24 || Number(n) > 59 ? null : `${hour % 24}:${n}`;
}

/**
 * Letters and digits in one word, or five digits and more. Not an identifier: `2-bedroom`, `24h`, `3rd`, `5-7`, a numbered
 * word (`step1`, `result_1`), a common name (`COVID-19`, `UTF-8`, `v2`, `A4`, `H2O`).
 */
function isId(word: string): boolean {
  if (/^\d+$/.test(word)) return word.length >= LONG;
  if (!/\d/.test(word) || ORDINARY.test(word)) return false;
  return !UNITS.test(word) && !/^\d+-\p{L}+$/u.test(word) && !/^\d{1,4}(?:-\d{1,4})+$/.test(word);
}

const LONG = 5;
const ORDINARY = /^(?:\p{L}{3,}(?:[_-]\p{L}{3,})*[_-]?\d|\p{Lu}{3,}-\d{1,2}|[vV]\d+|[\p{L}\d]{2,3})$/u;
const UNITS = /^\d+(?:st|nd|rd|th|h|hrs?|m|min|s|k|kg|g|mb|gb|lbs?|x|d|am|pm)$/i;
