/** Arithmetic without a view of the answer: calculations that a text writes out (`$94 + $80 - $12`), and the lists of a result. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { structured } from '../text/sources.ts';
import { NUMBER, readingsOf } from '../text/numbers.ts';

const OPERANDS_MAX = 12;
const OPERATOR = String.raw`\s*[-+×x*–−]\s*`;
const MONEY = String.raw`[$€£¥]?\s?`;
const CALCULATION = new RegExp(`${NUMBER}(?:${OPERATOR}${MONEY}${NUMBER})+`, 'giu');

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
  if (parts.length > OPERANDS_MAX) return null;
  const terms: number[] = [];
  for (const [index, part] of parts.entries()) {
    const [value = NaN] = readingsOf(part);
    const [before, after] = [operators[index - 1], operators[index]];
    const isFactor = isTimes(before) || isTimes(after);
    if (!isKnown(value) && !(isFactor && value <= OPERANDS_MAX)) return null;
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

/** The numbers of an object by the path of their field, without those in lists. A list of numbers is its own field. */
function numbersIn(value: Json, path: string): ReadonlyMap<string, number> {
  if (typeof value === 'number') return new Map([[path, value]]);
  if (!isRecord(value)) return new Map();
  return new Map(Object.entries(value).flatMap(([key, each]) => [...numbersIn(each, `${path}.${key}`)]));
}

const COUNT_MAX = 9;

/** The lengths of the lists in a value: two passengers, three items. */
export function lengthsIn(value: Json): readonly number[] {
  if (value === null || typeof value !== 'object') return [];
  const inner = (Array.isArray(value) ? value : Object.values(value)).flatMap(lengthsIn);
  return Array.isArray(value) && value.length > 1 && value.length <= COUNT_MAX ? [value.length, ...inner] : inner;
}

export function rounded(value: number): number {
  return Number(value.toFixed(2));
}
