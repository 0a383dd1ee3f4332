/**
 * Numbers that one operation derives from known ones: the total of a list by one field, the sum of the amounts right before or
 * after it, a difference, a product with a count, a share, a unit.
 */
import { decimalsOf } from '../text/numbers.ts';
import type { Stated } from '../text/read-values.ts';
import { rounded } from './calculations.ts';
import type { Known } from './known.ts';

/** A number of the answer, in its order. */
export interface Term {
  readonly stated: Stated;
  readonly value: number;
  /** The line that it stands in, and the identifiers of the objects that the line is about. */
  readonly line: number;
  readonly subjects: readonly string[];
  /** Known or derived. */
  supported: boolean;
  derived: boolean;
}

const OPERANDS_MAX = 12;
const COMPARED = 4;
const CENT = 0.005;

/** The number at `at` follows from supported numbers of the answer and from the observations by one operation. */
export function isDerived(at: number, terms: readonly Term[], known: Known): boolean {
  const term = terms[at];
  if (term === undefined) return false;
  const { value, stated } = term;
  const isOperand = (each: Term): boolean =>
    each.supported && (each.stated.kind === stated.kind || stated.kind === 'percent');
  const operands = terms.slice(0, at).filter(isOperand);
  const before = operands.map((each) => each.value);
  const subtotals = operands.flatMap((each) => (each.derived ? [each.value] : []));
  const after = terms
    .slice(at + 1)
    .filter(isOperand)
    .map((each) => each.value);
  if (stated.kind === 'percent') return isShare(stated, [...before, ...after, ...known.lengths]);
  return (
    isTotal(term, known) ||
    isUnit(value, known) ||
    isRun(value, before.slice(-OPERANDS_MAX).toReversed()) ||
    isRun(value, subtotals.slice(-OPERANDS_MAX).toReversed()) ||
    isRun(value, after.slice(0, OPERANDS_MAX)) ||
    isDifference(value, before.slice(-COMPARED)) ||
    isProduct(term, before, terms, known)
  );
}

/** The total of a list. In a line about an object: of a list in that object. */
function isTotal({ value, subjects }: Term, known: Known): boolean {
  return subjects.length === 0 ? known.isTotal(value) : known.objects.totalsOf(subjects).includes(value);
}

/** The sum of the next two or more numbers. */
function isRun(value: number, numbers: readonly number[]): boolean {
  let sum = numbers[0] ?? 0;
  return numbers.slice(1).some((each) => isSame((sum += each), value));
}

function isDifference(value: number, numbers: readonly number[]): boolean {
  return numbers.some((one, at) => numbers.slice(at + 1).some((other) => isSame(Math.abs(one - other), value)));
}

/** So many times a number of the answer as its line or a list counts. */
function isProduct({ value, line }: Term, before: readonly number[], terms: readonly Term[], known: Known): boolean {
  const beside = terms.filter((each) => each.line === line).map((each) => each.value);
  const stated = beside.filter((each) => Number.isInteger(each) && each <= OPERANDS_MAX);
  const counts = [...new Set([...stated, ...known.lengths])].filter((count) => count > 1);
  return counts.some((count) => before.some((each) => isSame(each * count, value)));
}

/** A part of a hundred of one number in another. */
function isShare({ key, text }: Stated, numbers: readonly number[]): boolean {
  const within = 0.5 / 10 ** decimalsOf(text.replace(/[^\d.,]/g, ''));
  return numbers.some((part) =>
    numbers.some((whole) => whole !== 0 && Math.abs((part / whole) * 100 - Number(key)) <= within * 1.0001),
  );
}

/** `49.50` for 4950 cents. */
function isUnit(value: number, known: Known): boolean {
  return !Number.isInteger(value) && Number.isInteger(rounded(value * 100)) && known.hasNumber(rounded(value * 100));
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) < CENT;
}
