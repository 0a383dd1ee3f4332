/**
 * What an author means by `input.order`, whatever a run is started with: a field of the input where that is an object, and
 * of the JSON object in it where it is text. `input` alone stays as it was given.
 */
import { parseExpr } from '../../expr/parse.ts';
import type { Expr } from '../../ir/nodes.ts';
import { readsOf } from './reads.ts';
import type { Path } from './reads.ts';

const FIELDS = '(type(input) == map ? input : jsonIn(text(input)))';

export function withInputFields(source: Expr): Expr {
  const fields = readsIn(source)
    .filter(({ path, end }) => path[0] === 'input' && (path.length > 1 || /^\s*\[/.test(source.slice(end))))
    .sort((a, b) => b.start - a.start);
  return fields.reduce((text, { start }) => text.slice(0, start) + FIELDS + text.slice(start + 'input'.length), source);
}

/** None where the source does not parse: its check has reported that. */
function readsIn(source: Expr): Path[] {
  try {
    return readsOf(parseExpr(source));
  } catch {
    return [];
  }
}

/** The expression in its own brackets, also where it ends in a comment. */
export function strictly(when: Expr): Expr {
  return `strict(${when}${when.includes('//') ? '\n' : ''})`;
}
