/**
 * Sums that can be checked: a calculation that is written out (`$94 + $80 - $12`), a total right after its items, the total of
 * all amounts with one label, and the total of one list by one field. Each summand must be known or shown itself. Other sums
 * need the result of a calculator.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { structured } from '../text/sources.ts';
import type { Known, Line } from './detector.ts';
import { NUMBER, readingsOf } from '../text/numbers.ts';
import { valuesIn } from '../text/read-values.ts';

const SUMMANDS_MAX = 12;
export const TOTAL =
  /\b(?:total|sum|subtotal|difference|combined|altogether|gesamt\w*|summe|insgesamt|totale|suma|soma|totaal)\b/i;
const COST =
  /\b(?:costs?|prices?|fees?|fares?|charged?|refund(?:ed)?|amount|pay|payment|kosten|preis|prix|coût|precio|prezzo|preço|prijs)\b/i;
const OPERATOR = String.raw`\s*[-+×x*–−]\s*`;
const MONEY = String.raw`[$€£¥]?\s?`;
const CALCULATION = new RegExp(`${NUMBER}(?:${OPERATOR}${MONEY}${NUMBER})+`, 'giu');

/** The keys of the amounts that the text derives from known ones. */
export function shownSums(lines: readonly Line[], known: Known): ReadonlySet<string> {
  const shown = new Set<string>();
  const isKnown = (value: number): boolean =>
    shown.has(String(value)) || known.has({ kind: 'number', key: String(value), text: String(value) });
  const add = (value: number): void => void shown.add(String(rounded(value)));
  const [run, stated]: [number[], number[]] = [[], []];
  const byLabel = new Map<string, number[]>();
  const text = lines.map(({ line }) => line).join('\n');
  for (const { line, heading } of lines) {
    calculatedIn(line, isKnown).forEach(add);
    const isTotal = TOTAL.test(line);
    for (const { kind, key } of valuesIn(line)) {
      if (kind !== 'amount') continue;
      if (isTotal) addTotals(run, byLabel, add);
      const isCost = isTotal || (heading === null && COST.test(line));
      if (isCost && isDerived(Number(key), { line, text, isTotal }, known, isKnown)) add(Number(key));
      if (DIFFERENCE.test(line)) differences(stated).forEach(add);
      if (!isKnown(Number(key))) continue;
      stated.push(Number(key));
      const label = labelOf(line);
      byLabel.set(label, [...(byLabel.get(label) ?? []), Number(key)]);
      if (isTotal) run.length = 0;
      run.push(Number(key));
    }
  }
  return shown;
}

/** The sums of the last amounts in a row, and of all amounts with one label. */
function addTotals(run: readonly number[], byLabel: ReadonlyMap<string, number[]>, add: (value: number) => void): void {
  const last = run.slice(-SUMMANDS_MAX);
  for (let from = 0; from < last.length - 1; from++) add(last.slice(from).reduce((sum, each) => sum + each, 0));
  for (const amounts of byLabel.values()) if (amounts.length > 1) add(amounts.reduce((sum, each) => sum + each, 0));
}

const DIFFERENCE =
  /\b(?:difference|additional|remaining|remainder|balance|savings?|owed?|due|net|unterschied|differenz|restbetrag|différence|diferencia|differenza|verschil)\b/i;
const COMPARED = 4;

/** The differences between the last amounts that the text states. */
function differences(stated: readonly number[]): readonly number[] {
  const last = stated.slice(-COMPARED);
  return last.flatMap((a, at) => last.slice(at + 1).map((b) => Math.abs(a - b)));
}

/** The total of a list (in a line about a total), a multiple, or a sum over the things that the text names. */
function isDerived(
  value: number,
  { line, text, isTotal }: { readonly line: string; readonly text: string; readonly isTotal: boolean },
  known: Known,
  isKnown: (value: number) => boolean,
): boolean {
  return (isTotal && known.isTotal(value)) || isMultiple(value, line, known, isKnown) || known.isFare(value, text);
}

/** So many times a known amount as the line or a list counts: `Total for 2 passengers: $348`. */
function isMultiple(value: number, line: string, known: Known, isKnown: (value: number) => boolean): boolean {
  if (known.isMultiple(value, line)) return true;
  const counts = [...line.matchAll(COUNT)].map(([word]) => countOf(word));
  return counts.some(
    (count) => count > 1 && (isKnown(rounded(value / count)) || known.isTotal(rounded(value / count))),
  );
}

function countOf(word: string): number {
  const index = COUNT_WORDS.indexOf(word.toLowerCase());
  return index < 0 ? Number(word) : index + 2;
}

const COUNT_WORDS = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const COUNT = new RegExp(`(?<![\\p{L}\\d.,$€£¥-])(?:\\d{1,2}|${COUNT_WORDS.join('|')})(?= \\p{L})`, 'giu');

/** The results of the calculations that a text writes out with known numbers. */
export function calculatedIn(text: string, isKnown: (value: number) => boolean): readonly number[] {
  return [...text.matchAll(CALCULATION)].flatMap(([written]) => {
    const result = calculate(written, isKnown);
    return result === null ? [] : [result];
  });
}

/** `$174 ($94 + $60)`, `$94 + $60 = $174`: amounts that are not the result of the calculation beside them. */
export function wrongResults(line: string): readonly string[] {
  return [...line.matchAll(RESULT_FIRST), ...line.matchAll(RESULT_LAST)].flatMap(({ groups }) => {
    const { stated = '', number = '', calculation = '' } = groups ?? {};
    const result = calculate(calculation, () => true);
    const fits = readingsOf(number).some((value) =>
      FACTORS.some((factor) => Math.abs(value - (result ?? NaN) * factor) < TOLERANCE),
    );
    return result === null || fits ? [] : [stated];
  });
}

const STATED = `(?<stated>[$€£¥]\\s?(?<number>${NUMBER}))`;
const RESULT_FIRST = new RegExp(
  `${STATED}[^()\\d$€£¥\\n]{0,24}\\((?<calculation>${MONEY}${CALCULATION.source})\\)`,
  'giu',
);
const RESULT_LAST = new RegExp(
  `(?<![-+×x*–−]\\s*|[\\d.,])(?<calculation>${MONEY}${CALCULATION.source})\\s*=\\s*${STATED}`,
  'giu',
);
/** The amount in front may be for several: `$348 for both ($94 + $80)`. */
const FACTORS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const TOLERANCE = 0.01;

/** Products before sums. Null if a number is not known; a small factor need not be. */
function calculate(written: string, isKnown: (value: number) => boolean): number | null {
  const parts = written.split(new RegExp(`(?<=\\d)${OPERATOR}`, 'iu')).map((part) => part.replace(/[$€£¥\s]/g, ''));
  const operators = [...written.matchAll(new RegExp(`(?<=\\d)\\s*(?<op>[-+×x*–−])`, 'giu'))].map(
    ({ groups }) => groups?.['op'] ?? '',
  );
  const isTimes = (op = ''): boolean => /[×x*]/i.test(op);
  if (parts.length > SUMMANDS_MAX) return null;
  const terms: number[] = [];
  for (const [index, part] of parts.entries()) {
    const [value = NaN] = readingsOf(part);
    const [before, after] = [operators[index - 1], operators[index]];
    const isFactor = isTimes(before) || isTimes(after);
    if (!isKnown(value) && !(isFactor && value <= SUMMANDS_MAX)) return null;
    if (isTimes(before)) terms.push((terms.pop() ?? NaN) * value);
    else terms.push(index === 0 || before === '+' ? value : -value);
  }
  return rounded(terms.reduce((sum, each) => sum + each, 0));
}

const ITEMS_MAX = 50;

/** The total of each list of objects, by each field that all of them have. */
export function listTotals(value: Json): readonly number[] {
  const data = structured(value);
  if (data === null || typeof data !== 'object') return [];
  if (!Array.isArray(data)) return Object.values(data).flatMap(listTotals);
  const items = data.length < 2 || data.length > ITEMS_MAX ? [] : data.map((each) => numbersIn(each, ''));
  const [first] = items;
  const totals = [...(first?.keys() ?? [])]
    .filter((field) => items.every((item) => item.has(field)))
    .map((field) => rounded(items.reduce((sum, item) => sum + (item.get(field) ?? 0), 0)));
  return [...totals, ...data.flatMap(listTotals)];
}

/** The numbers of an object by the path of their field, without those in lists. */
function numbersIn(value: Json, path: string): ReadonlyMap<string, number> {
  if (typeof value === 'number' && path !== '') return new Map([[path, value]]);
  if (!isRecord(value)) return new Map();
  return new Map(Object.entries(value).flatMap(([key, each]) => [...numbersIn(each, `${path}.${key}`)]));
}

function labelOf(line: string): string {
  return (line.split(/[:$€£¥]/)[0] ?? '')
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
    .toLowerCase();
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
