/**
 * Sources that vouch for values: the user, the author and trusted tools. A value is vouched for as a whole token, and a number
 * for the kind of field that it came from: in `Pay 250 for invoice 7`, 250 is an amount and 7 an identifier.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { isIban } from '@sluice-internal/pii';
import { monthOf } from '../text/months.ts';
import { valuesIn, type Stated } from '../text/read-values.ts';
import { currenciesIn } from './currencies.ts';
import { kindOfField, kindOfWords, takes, type FieldKind } from './field-kinds.ts';
import { even, flat, hasToken, structured } from '../text/sources.ts';

export interface VouchingSource {
  readonly name: string;
  has(value: string | number, kind?: FieldKind): boolean;
  /** The codes of the currencies that the source names. */
  currencies(): ReadonlySet<string>;
}

export function sourceOf(name: string, values: readonly Json[]): VouchingSource {
  const text = `\n${even(values.map(flat).join('\n'))}\n`;
  let known: Known | null = null;
  const read = (): Known => (known ??= knownIn(values));
  return {
    name,
    currencies: () => currenciesIn(values.map(flat).join('\n')),
    has: (value, kind = null) => {
      if (typeof value === 'number') return hasKind(read().numbers.get(value), kind);
      // Digits in a text may be a part of a date: they count as the number that they are.
      if (/^\d+$/.test(value)) return hasToken(text, value) && hasKind(read().numbers.get(Number(value)), kind);
      return (
        spellingsOf(value).some((each) => hasToken(text, each) && hasTokenOfKind(read().texts, each, kind)) ||
        isKnownDate(value, read().dates) ||
        isKnownTime(value, read().times)
      );
    },
  };
}

/** An IBAN is the same with and without blanks after every four characters. */
function spellingsOf(value: string): readonly string[] {
  if (!isIban(value)) return [value];
  const plain = value.replaceAll(' ', '');
  return [value, plain, (plain.match(/.{1,4}/g) ?? []).join(' ')];
}

interface Known {
  /** The texts, with the kind of their field. */
  readonly texts: readonly { readonly text: string; readonly field: FieldKind }[];
  readonly numbers: ReadonlyMap<number, ReadonlySet<FieldKind>>;
  readonly times: ReadonlySet<string>;
  /** The years of each day; undefined where it was named without one. */
  readonly dates: ReadonlyMap<string, ReadonlySet<number | undefined>>;
}

function hasKind(kinds: ReadonlySet<FieldKind> | undefined, kind: FieldKind): boolean {
  return kinds !== undefined && (kind === null || [...kinds].some((each) => takes(kind, each)));
}

/** An identifier counts for the kind of its field, or for the kind that the word before it tells. */
function hasTokenOfKind(texts: Known['texts'], value: string, kind: FieldKind): boolean {
  if (kind === null || !/^\S*\d\S*$/.test(value)) return true;
  const token = even(value);
  const kinds = texts.flatMap(({ text, field }) =>
    hasToken(`\n${text}\n`, token) ? (field === null ? kindsAt(text, token) : [field]) : [],
  );
  return kinds.length === 0 || kinds.some((each) => takes(kind, each));
}

/** The same date, written another way; a time of a known date is known. */
function isKnownDate(value: string, dates: Known['dates']): boolean {
  const [stated, ...others] = valuesIn(value);
  if (stated?.kind !== 'date' || others.some(({ kind }) => kind !== 'time')) return false;
  const years = dates.get(stated.key);
  return years !== undefined && (stated.year === undefined || years.has(undefined) || years.has(stated.year));
}

/** The same time, written another way: `14:00` and `2 pm`. */
function isKnownTime(value: string, times: ReadonlySet<string>): boolean {
  const [stated, ...others] = valuesIn(value);
  return stated?.kind === 'time' && stated.text.trim() === value.trim() && others.length === 0 && times.has(stated.key);
}

function knownIn(values: readonly Json[]): Known {
  const numbers = new Map<number, Set<FieldKind>>();
  const dates = new Map<string, Set<number | undefined>>();
  const times = new Set<string>();
  const texts: { readonly text: string; readonly field: FieldKind }[] = [];
  const walk = (value: Json, field: FieldKind): void => {
    const data = structured(value);
    if (data !== null && typeof data === 'object') {
      if (Array.isArray(data)) for (const each of data) walk(each, field);
      else for (const [key, each] of Object.entries(data)) walk(each, key === 'value' ? null : kindOfField(key));
      return;
    }
    const text = String(data);
    texts.push({ text: even(text), field });
    for (const stated of valuesIn(text)) {
      if (stated.kind === 'date') add(dates, stated.key, [stated.year]);
      else if (stated.kind === 'time') times.add(stated.key);
      else if (isNumber(stated)) add(numbers, Number(stated.key), field === null ? kindsIn(text, stated) : [field]);
    }
  };
  for (const value of values) walk(value, null);
  return { texts, numbers, dates, times };
}

function add<K, V>(map: Map<K, Set<V>>, key: K, values: readonly V[]): void {
  const known = map.get(key) ?? new Set();
  for (const value of values) known.add(value);
  map.set(key, known);
}

/** A token of its own, not a part of a date, a time or an identifier. `10,000.50` equals `10000.5`. */
function isNumber({ kind, key }: Stated): boolean {
  return kind === 'number' || kind === 'amount' || /^\d+$/.test(key);
}

const BEFORE = 40;
/** A noun such as `order`, with or without `number` after it. The noun tells the kind. */
const NOUN_BEFORE =
  /(?:#|(?<!\p{L})(?<noun>\p{L}+))\.?\s*(?<general>(?:(?:id|no|nr|number|is|with)\b\.?\s*)*)[:#=]*\s*$/iu;
/** A field of JSON or of a list of settings inside a text: `"invoice_id": 7`, `'to': 'u7'`. */
const FIELD_BEFORE = /(?<quote>["'`])(?<field>[\p{L}\p{N}_.-]+)\k<quote>\s*[:=]>?\s*["'`]?$/u;
const AMOUNT_BEFORE =
  /(?<!\p{L})(?:pay|pays|paid|refund|transfer|send|wire|charge|deposit|withdraw|amount|total|sum|price|costs?|fee|budget|limit|rent|zahle|überweise|betrag|payez|paie|virez|montant|paga|importe|importo|valor|betaal|bedrag)\s*(?:(?:back|of|is|just|only|about|exactly|up to|at most)\s*)*[:=]?\s*$/iu;

/** The kinds of the places at which a number stands in a text. */
function kindsIn(text: string, { kind, text: written }: Stated): readonly FieldKind[] {
  if (kind === 'amount' || /^\d+[.,]\d{2}$/.test(written)) return ['amount'];
  return kindsAt(text, written);
}

function kindsAt(text: string, written: string): readonly FieldKind[] {
  const kinds: FieldKind[] = [];
  for (let at = text.indexOf(written); at >= 0; at = text.indexOf(written, at + 1)) {
    const before = text.slice(Math.max(0, at - BEFORE), at);
    const after = text.slice(at + written.length);
    if (/[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(after) || isInDate(before, after)) continue;
    kinds.push(kindBefore(before));
  }
  return kinds.length === 0 ? [null] : kinds;
}

function kindBefore(before: string): FieldKind {
  const field = FIELD_BEFORE.exec(before)?.groups?.['field'];
  if (field !== undefined) return field === 'value' ? null : kindOfField(field);
  if (AMOUNT_BEFORE.test(before)) return 'amount';
  const match = NOUN_BEFORE.exec(before);
  if (match === null) return null;
  const { noun, general = '' } = match.groups ?? {};
  const kind = noun === undefined ? 'identity' : kindOfWords([noun.toLowerCase()]);
  // `to 250` does not tell an account from an amount.
  if (kind === 'payee' || kind === 'count') return null;
  return kind === null && /\b(?:id|no|nr|number)\b/i.test(general) ? 'identity' : kind;
}

function isInDate(before: string, after: string): boolean {
  return (
    monthOf(/(\p{L}+)\.?\s+$/u.exec(before)?.[1]) > 0 ||
    monthOf(/^(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(\p{L}+)/u.exec(after)?.[1]) > 0
  );
}
