/**
 * Values of a text without a source. Identifiers, addresses, URLs, dates, times, amounts, percentages and numbers above 100 must
 * be known, or follow from known values by one operation. The text is read by its digits and its lines, never by its words.
 */
import { monthOf } from '../text/months.ts';
import { valuesIn, type Stated } from '../text/read-values.ts';
import { calculatedIn, wrongResults } from './calculations.ts';
import { isDerived, type Term } from './derived.ts';
import type { Strictness } from './evidence.ts';
import { isSmall, type Known } from './known.ts';

/** The values without a source, as the text writes them. */
export function unknownValues(text: string, strictness: Strictness, known: Known): readonly string[] {
  const unknown = new Set<string>();
  const open: Term[] = [];
  const terms: Term[] = [];
  const lines = linesOf(text, known);
  for (const [index, at] of lines.entries()) {
    for (const each of [...wrongResults(at.line), ...namedTwice(at.line)]) unknown.add(each);
    for (const stated of valuesIn(at.line)) {
      const supported = known.has(stated) && !isForeign(stated, at, known);
      if (NUMERIC.has(stated.kind))
        terms.push({
          stated,
          value: Number(stated.key),
          line: index,
          subjects: at.subjects,
          supported,
          derived: false,
        });
      if (supported || !isJudged(stated, strictness)) continue;
      const term = terms.at(-1);
      if (NUMERIC.has(stated.kind) && term !== undefined) open.push(term);
      else unknown.add(stated.text);
    }
  }
  for (const { stated } of underived(open, terms, text, known)) unknown.add(stated.text);
  return [...unknown];
}

const NUMERIC: ReadonlySet<string> = new Set(['amount', 'quantity', 'number', 'percent']);

/** A derived number supports others, so the terms are read again until none is added. */
function underived(open: readonly Term[], terms: readonly Term[], text: string, known: Known): readonly Term[] {
  let left = open;
  for (;;) {
    const written = new Set(
      calculatedIn(
        text,
        (value) => known.hasNumber(value) || terms.some((each) => each.supported && each.value === value),
      ),
    );
    const found = left.filter((term) => written.has(term.value) || isDerived(terms.indexOf(term), terms, known));
    for (const term of found) term.supported = term.derived = true;
    left = left.filter((term) => !term.supported);
    if (found.length === 0 || left.length === 0) return left;
  }
}

const LARGE = 100;

/** Small numbers come from counting, round numbers are manners of speaking, and a year comes from the date of today. */
function isJudged(stated: Stated, strictness: Strictness): boolean {
  if (stated.kind === 'percent') return !/^(?:0|100)$/.test(stated.key);
  if (stated.kind !== 'number') return true;
  if (strictness === 'all') return !isSmall(stated);
  const number = Number(stated.key);
  const isYear = Number.isInteger(number) && number >= 1900 && number < 2100;
  return number >= LARGE && !isYear && !/^\d0*$/.test(stated.key);
}

/** `May 14 and May 14`, `May 14 – May 14`: one of the two dates is wrong. */
function namedTwice(line: string): readonly string[] {
  const dates = valuesIn(line).filter(({ kind }) => kind === 'date');
  let rest = line;
  return dates.flatMap(({ text, key }, at) => {
    rest = rest.slice(rest.indexOf(text) + text.length);
    const next = dates[at + 1];
    const isTwice =
      next?.key === key && rest.includes(next.text) && JOINING.test(rest.slice(0, rest.indexOf(next.text)));
    return isTwice ? [text] : [];
  });
}

/** One short word, or a dash. */
const JOINING = /^(?:st|nd|rd|th)?\s+(?:\p{L}{1,3}|[-–—&+/])\s+$/u;

/** The value belongs to another object than those that its line names. */
function isForeign(stated: Stated, { line, heading, subjects, below }: Line, { objects, isFree }: Known): boolean {
  if ((stated.kind !== 'date' && stated.kind !== 'amount') || isFree(stated)) return false;
  const names = objects.namesIn(line);
  if (stated.kind === 'date')
    return objects.isForeignDate(stated, names, heading) || objects.isForeignToAll(stated, names, below);
  return objects.isForeignAmount(stated, subjects);
}

/** A line of a text. `heading` is the identifier in a line above that this item of a list is about. */
interface Line {
  readonly line: string;
  readonly heading: string | null;
  /** The objects that the line is about: those that it names, otherwise the one above. */
  readonly subjects: readonly string[];
  /** The identifiers in the list that the line announces. */
  readonly below: readonly string[];
}

const ITEM = /^\s*(?:[-*•–]|\d+[.)])\s|^\s{2,}\S/;
const SENTENCE_END = /(?<=\p{Ll}{2}[.!?])\s+(?=\p{Lu})|(?<=\d[.!?])\s+(?=\p{Lu}\p{Ll}+\s)/u;

/** The lines of a text, and the sentences of those that are no items. An item belongs to the last line above it that names one thing and is not indented more. */
function linesOf(text: string, { objects }: Known): readonly Line[] {
  let above: readonly { readonly indent: number; readonly name: string }[] = [];
  const lines = text.split('\n').flatMap((line) => (ITEM.test(line) ? [line] : sentencesIn(line)));
  const subjectsIn = (line: string): readonly string[] =>
    objects.namesIn(line).filter((name) => objects.isSubject(name));
  return lines.map((line, at) => {
    const named = subjectsIn(line);
    const [subject, ...others] = named;
    const isItem = ITEM.test(line);
    const indent = line.length - line.trimStart().length;
    if (line.trim() === '') return { line, heading: null, subjects: [], below: [] };
    above = isItem ? above.filter((each) => each.indent <= indent) : [];
    const heading = isItem ? (above.at(-1)?.name ?? null) : null;
    if (subject !== undefined && others.length === 0)
      above = [...above.filter((each) => each.indent < indent), { indent, name: subject }];
    const subjects = named.length > 0 || heading === null ? named : [heading];
    return {
      line,
      heading,
      subjects,
      below: isItem || subject !== undefined ? [] : itemsAfter(lines, at).flatMap(subjectsIn),
    };
  });
}

/** The number of a day before its month ends no sentence: `am 24. Mai`. */
function sentencesIn(line: string): readonly string[] {
  const found: string[] = [];
  for (const part of line.split(SENTENCE_END)) {
    const isMonth = monthOf(/^\p{L}+/u.exec(part)?.[0]) > 0;
    if (isMonth && /\d\.$/.test(found.at(-1) ?? '')) found.push(`${found.pop() ?? ''} ${part}`);
    else found.push(part);
  }
  return found;
}

/** The items of the list that follows a line. */
function itemsAfter(lines: readonly string[], at: number): readonly string[] {
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && !ITEM.test(line));
  return end < 0 ? rest : rest.slice(0, end);
}
