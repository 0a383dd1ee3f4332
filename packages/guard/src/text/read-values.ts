/** Reads the values of a text: identifiers, dates, times, amounts of money and other numbers, each in one normal form. */
import { cachedRead } from './cached-read.ts';
import { monthOf } from './months.ts';
import { MAGNITUDE, NUMBER, decimalsOf, factorOf, readingsOf } from './numbers.ts';

export interface Stated {
  readonly kind: 'id' | 'date' | 'time' | 'amount' | 'quantity' | 'percent' | 'number';
  /** The normal form, for comparison. A date is `month/day`, or `year-month`. */
  readonly key: string;
  /** The value as written. */
  readonly text: string;
  /** Other normal forms that the text can mean. */
  readonly others?: readonly string[];
  /** Of a date: its year, if it has one. */
  readonly year?: number;
  /** Of a rounded number (`12.5M`): the amount by which it may differ from the exact one. */
  readonly within?: number;
}

export const valuesIn: (text: string) => readonly Stated[] = cachedRead(readValues);

function readValues(text: string): readonly Stated[] {
  const found: Stated[] = [];
  let rest = text.normalize('NFKC').replace(/[*`]/g, ' ').replace(LISTED_NAME, '$1');
  // A reader removes the text that it read: the year of a date is not also a number.
  for (const { kind, pattern, read } of READERS)
    rest = rest.replace(pattern, (...args: unknown[]) => {
      const written = String(args[0]);
      const value = read(written, (args.at(-1) ?? {}) as Groups);
      if (value === null) return written;
      const stated = { kind, text: written.trim(), ...(typeof value === 'string' ? { key: value } : value) };
      found.push(isApproximate(stated, String(args.at(-2)).slice(0, Number(args.at(-3)))) ? rounded(stated) : stated);
      return ' ; ';
    });
  return found;
}

/** The number of a list item before a name: `2. Mei Lee` is not a date. */
const LISTED_NAME = /^(\s*)\d{1,2}\.(?=\s+\p{Lu}\p{Ll}+\s+\p{Lu}\p{Ll})/gmu;

const APPROXIMATE =
  /(?:[~≈]|(?<!\p{L})(?:about|around|roughly|approx(?:imately|\.)?|nearly|almost|etwa|rund|ungefähr|circa|ca\.?|environ|aproximadamente|unos|cerca de|ongeveer|około|omkring|около|примерно)|约|約)\s*$/iu;

/** `~413 kWh`: a number that is marked as rounded. */
function isApproximate({ kind, within }: Stated, before: string): boolean {
  return within === undefined && ROUNDED.has(kind) && APPROXIMATE.test(before.slice(-APPROXIMATE_REACH));
}

const ROUNDED: ReadonlySet<string> = new Set(['amount', 'quantity', 'number']);
const APPROXIMATE_REACH = 20;

/** It may differ by half a unit of its last digit. */
function rounded(stated: Stated): Stated {
  const digits = /\d+(?:[.,]\d+)*/.exec(stated.text)?.[0] ?? '';
  return { ...stated, within: 0.5 / 10 ** (/[.,]\d{3}$/.test(digits) ? 0 : decimalsOf(digits)) };
}

interface Groups {
  readonly [name: string]: string | undefined;
}
type Read = string | Pick<Stated, 'key' | 'others' | 'year' | 'within'> | null;
interface Reader {
  readonly kind: Stated['kind'];
  readonly pattern: RegExp;
  /** Null if the match is not a value of this kind. */
  readonly read: (text: string, groups: Groups) => Read;
}

const MONTH = '(?<m>\\p{L}{3,12})';
const DAY = '(?<d>\\d{1,2})';
const YEAR = '(?<y>(?:19|20)\\d{2})';
const CURRENCY = '(?:[$€£¥₹]|(?:USD|EUR|GBP|CHF|JPY|US\\$)\\b)';
const CURRENCY_WORD = '(?:[$€£¥₹円]|(?:dollars?|usd|eur|euros?|gbp|pounds|chf|yen|jpy)(?![\\p{L}]))';
const UNIT =
  '(?:도|度|千瓦时|千瓦時|千瓦|公斤|公里|厘米|毫秒|キロワット時|キロワット|キログラム|キロ|ms|[kKMGT]i?B|°\\s?[CF]|mm|cm|km|kg|m\\/s|km\\/h|kW|kWh|MHz|GHz|sec|secs|s)';

const DATES: readonly Reader[] = [
  {
    kind: 'date',
    pattern: /\b(?<y>\d{4})[-/](?<m>\d{2})[-/](?<d>\d{2})(?:T(?=\d)|\b)/g,
    read: (_, g) => dateOf(Number(g['m']), g['d'], g['y']),
  },
  {
    kind: 'date',
    pattern: new RegExp(`(?<!\\p{L})${MONTH}\\.?\\s+${DAY}(?:st|nd|rd|th)?\\b(?![:.]\\d)(?:,?\\s+${YEAR}\\b)?`, 'giu'),
    read: (_, g) => dateOf(monthOf(g['m']), g['d'], g['y']),
  },
  {
    kind: 'date',
    pattern: new RegExp(
      `\\b${DAY}(?:st|nd|rd|th|er|º|\\.)?\\s+(?:of\\s+|de\\s+)?${MONTH}(?!\\p{L})\\.?(?:,?\\s+(?:de\\s+)?${YEAR}\\b)?`,
      'giu',
    ),
    read: (_, g) => dateOf(monthOf(g['m']), g['d'], g['y']),
  },
  {
    kind: 'date',
    pattern: new RegExp(`(?<!\\p{L})${MONTH}\\.?,?\\s+(?:de\\s+)?${YEAR}\\b`, 'giu'),
    read: (_, g) => (monthOf(g['m']) === 0 ? null : `${g['y'] ?? ''}-${monthOf(g['m'])}`),
  },
  {
    kind: 'date',
    pattern: /\b(?<a>\d{1,2})(?:[./]|\. )(?<b>\d{1,2})(?:[./]|\. )(?<y>(?:19|20)\d{2})\b/g,
    read: (_, g) => eitherDate(g),
  },
  {
    kind: 'date',
    pattern: /(?<=\b(?:am|vom|bis|zum|den|ab|seit)\s)(?<a>\d{1,2})\.(?<b>\d{1,2})\.(?!\d)/gi,
    read: (_, g) => dateOf(Number(g['b']), g['a'], undefined),
  },
];

/** `2026年3月13日`, `4월 11일` */
const DENSE_DATE = /(?:(?<y>(?:19|20)\d{2})\s?[年년]\s?)?(?<m>\d{1,2})\s?[月월]\s?(?<d>\d{1,2})\s?[日号일]/g;

const TIMES: readonly Reader[] = [
  {
    kind: 'time',
    pattern: /\b(?<h>\d{1,2}):(?<n>\d{2})(?::\d{2})?(?:\.\d+)?(?:\s*(?<p>[ap])\.?m\b\.?)?/gi,
    read: (_, g) => timeOf(g),
  },
  { kind: 'time', pattern: /\b(?<h>\d{1,2})\s*(?<p>[ap])\.?m\b\.?/gi, read: (_, g) => timeOf(g) },
  {
    kind: 'time',
    pattern: /\b(?<h>\d{1,2})[.h](?<n>\d{2})(?=\s*(?:uhr|uur)\b|\b(?<=h\d\d))/gi,
    read: (_, g) => timeOf(g),
  },
  // `van 10.00 tot 11.00 uur`
  { kind: 'time', pattern: /\b(?<h>\d{1,2})\.(?<n>\d{2})(?=\s+(?:bis|tot)\s)/gi, read: (_, g) => timeOf(g) },
];

const NUMBERS: readonly Reader[] = [
  {
    kind: 'amount',
    pattern: new RegExp(`${CURRENCY}\\s?(?<n>${NUMBER})(?<k>${MAGNITUDE})?`, 'giu'),
    read: (_, g) => amountOf(g),
  },
  {
    kind: 'amount',
    pattern: new RegExp(`(?<![\\p{Script=Latin}\\d.,])(?<n>${NUMBER})(?<k>${MAGNITUDE})?\\s?${CURRENCY_WORD}`, 'giu'),
    read: (_, g) => amountOf(g),
  },
  {
    kind: 'id',
    pattern: /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}][\p{L}\p{N}._%+-]*@[\p{L}\p{N}.-]+\.\p{L}{2,}/gu,
    read: (text) => text.toLowerCase(),
  },
  {
    kind: 'id',
    pattern: /(?<![\p{Script=Latin}\d.])v?\d+\.\d+\.\d+(?:[-+.][\p{Script=Latin}\d]+)*(?![\p{Script=Latin}\d])/giu,
    read: (text) => (/^\d{1,3}(?:\.\d{3})+$/.test(text) ? null : text.toLowerCase().replace(/^v/, '')),
  },
  {
    kind: 'quantity',
    pattern: new RegExp(
      `(?<![\\p{Script=Latin}\\d.,-])(?<n>${NUMBER})\\s?(?<u>${UNIT})(?![\\p{Script=Latin}\\d/])`,
      'gu',
    ),
    read: (_, g) => quantityOf(g),
  },
  {
    kind: 'percent',
    pattern: new RegExp(`(?<![\\p{Script=Latin}\\d.,])(?<n>${NUMBER})\\s?%`, 'gu'),
    read: (_, g) => numberOf(g),
  },
  {
    kind: 'id',
    pattern: /(?<!\d[.,])[\p{Script=Latin}\d]+(?:[_-][\p{Script=Latin}\d]+)*(?![\d]|[.,]\d)/gu,
    read: (text) => (isId(text) ? text.toLowerCase() : null),
  },
  {
    kind: 'number',
    pattern: new RegExp(
      `(?<![\\p{Script=Latin}\\d.]|\\p{Script=Latin}-)(?<n>${NUMBER})(?<k>${MAGNITUDE})?(?![\\p{Script=Latin}\\d])`,
      'gu',
    ),
    read: (_, g) => numberOf(g),
  },
];

const URL_READER: Reader = {
  kind: 'id',
  pattern: /\bhttps?:\/\/[^\s"'<>()[\]{}|\\^`]+/giu,
  read: (text) => text.toLowerCase().replace(/[.,;:!?/]+$/, ''),
};

const READERS: readonly Reader[] = [
  URL_READER,
  { kind: 'date', pattern: DENSE_DATE, read: (_, g) => dateOf(Number(g['m']), g['d'], g['y']) },
  ...DATES,
  ...TIMES,
  ...NUMBERS,
];

/** `$005` is not an amount of anything: it is compared as it is written. */
function amountOf(groups: Groups): Read {
  return /^0\d/.test(groups['n'] ?? '') ? (groups['n'] ?? '') : numberOf(groups);
}

function numberOf({ n = '', k }: Groups): Read {
  const factor = factorOf(k);
  const [first = NaN, ...others] = readingsOf(n).map((each) => Number((each * factor).toPrecision(15)));
  return {
    key: String(first),
    ...(others.length === 0 ? {} : { others: others.map(String) }),
    ...(factor === 1 ? {} : { within: factor / 10 ** decimalsOf(n) / 2 }),
  };
}

/** A second is a thousand milliseconds; so are the other units with a thousandth. */
function quantityOf({ n = '', u = '' }: Groups): Read {
  const readings = readingsOf(n);
  const thousandths = /^(?:s|secs?|GB|MB|kg|km|TB)$/.test(u) ? readings.map((each) => each * 1000) : [];
  const [first = NaN, ...others] = [...readings, ...thousandths].map((each) => Number(each.toPrecision(15)));
  return { key: String(first), ...(others.length === 0 ? {} : { others: others.map(String) }) };
}

function dateOf(month: number, day: string | undefined, year: string | undefined): Read {
  const of = Number(day);
  if (month < 1 || month > 12 || of < 1 || of > 31) return null;
  return { key: `${month}/${of}`, ...(year === undefined ? {} : { year: Number(year) }) };
}

/** `03/04/2026` is in March or in April. */
function eitherDate({ a, b, y }: Groups): Read {
  const [first, second] = [dateOf(Number(b), a, y), dateOf(Number(a), b, y)];
  const keys = [first, second].flatMap((each) => (each === null || typeof each === 'string' ? [] : [each.key]));
  const [key, ...others] = [...new Set(keys)];
  return key === undefined ? null : { key, ...(others.length === 0 ? {} : { others }), year: Number(y) };
}

function timeOf({ h, n = '00', p }: Groups): string | null {
  const given = Number(h);
  const hour = p === undefined ? given : (given % 12) + (p.toLowerCase() === 'p' ? 12 : 0);
  return hour > 24 || Number(n) > 59 ? null : `${hour % 24}:${n}`;
}

/**
 * Letters and digits in one word, or five digits and more. Not an identifier: `2-bedroom`, `24h`, `3rd`, `5-7`, a numbered
 * word (`step1`, `result_1`), a common name (`COVID-19`, `SHA256`, `ISO-8601`, `v2`, `A4`, `H2O`).
 */
function isId(word: string): boolean {
  if (/^\d+$/.test(word)) return word.length >= LONG;
  if (!/\d/.test(word) || ORDINARY.test(word) || STANDARD.test(word)) return false;
  return !UNITS.test(word) && !/^\d+-\p{L}+$/u.test(word) && !/^\d{1,4}(?:-\d{1,4})+$/.test(word);
}

const LONG = 5;
const ORDINARY = /^(?:\p{L}{3,}(?:[_-]\p{L}{3,})*[_-]?\d|\p{Lu}{3,}-\d{1,2}|[vV]\d+|[\p{L}\d]{2,3})$/u;
const STANDARD =
  /^(?:sha|md|aes|rsa|des|utf|ucs|iso|iec|din|en|rfc|ieee|http|ipv|mp|base|es|ecma|covid|win|windows|python|java|node|oauth|tls|ssl|usb|pm|co|omega|crc|ascii|latin|arm|amd|x)-?\d+(?:-\d+)?$/i;
const UNITS = /^\d+(?:st|nd|rd|th|h|hrs?|m|min|s|k|kg|g|mb|gb|lbs?|x|d|am|pm)$/i;
