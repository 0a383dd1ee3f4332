/**
 * Sums that a text shows: `$94 + $80`, `$725 - $503 = $222`, a total right after its items, or the total of all amounts with
 * one label. Each summand must be known or shown itself. Other sums need the result of a calculator.
 */
import type { Known } from './detector.ts';
import { NUMBER, readingsOf } from './numbers.ts';
import { valuesIn } from './read-values.ts';

const SUMMANDS_MAX = 12;
const TOTAL =
  /\b(?:total|sum|subtotal|difference|combined|altogether|gesamt\w*|summe|insgesamt|totale|suma|soma|totaal)\b/i;
const CALCULATION = new RegExp(
  `(?<a>${NUMBER})\\s*(?<op>[-+×x*–−])\\s*[$€£¥]?\\s?(?<b>${NUMBER})(?:\\s*=\\s*[$€£¥]?\\s?(?<c>${NUMBER}))?`,
  'giu',
);

/** The keys of the amounts that the text derives from known ones. */
export function shownSums(text: string, known: Known): ReadonlySet<string> {
  const shown = new Set<string>();
  const isKnown = (value: number): boolean =>
    shown.has(String(value)) || known.has({ kind: 'number', key: String(value), text: String(value) });
  const add = (value: number): void => void shown.add(String(rounded(value)));
  const run: number[] = [];
  const byLabel = new Map<string, number[]>();
  for (const line of text.split('\n')) {
    for (const match of line.matchAll(CALCULATION)) addCalculation(match.groups ?? {}, isKnown, add);
    const isTotal = TOTAL.test(line);
    for (const { kind, key } of valuesIn(line)) {
      if (kind !== 'amount') continue;
      if (isTotal) addTotals(run, byLabel, add);
      if (!isKnown(Number(key))) continue;
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

function addCalculation(
  { a = '', b = '', op = '' }: { readonly [name: string]: string | undefined },
  isKnown: (value: number) => boolean,
  add: (value: number) => void,
): void {
  const [left = NaN] = readingsOf(a);
  const [right = NaN] = readingsOf(b);
  const times = /[×x*]/i.test(op);
  if (!isKnown(left) && !(times && left <= SUMMANDS_MAX)) return;
  if (!isKnown(right) && !(times && right <= SUMMANDS_MAX)) return;
  add(times ? left * right : op === '+' ? left + right : left - right);
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
