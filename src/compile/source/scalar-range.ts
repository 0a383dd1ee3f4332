/**
 * A piece of a text value as a range in the document. An expression or template knows offsets in its own text; between that
 * text and the document stand quotes, escapes, folded lines and block indentation.
 */
import type { LocatedScalar } from './located.ts';
import type { Range, Source } from './range.ts';

/** The range of `scalar.value.slice(start, end)` in the document. */
export function rangeWithin(source: Source, scalar: LocatedScalar, start: number, end: number): Range {
  if (typeof scalar.value !== 'string' || scalar.range.path !== undefined) return scalar.range;
  const written = source.text.slice(scalar.range.start, scalar.range.end);
  const offsets = alignOffsets(written, scalar.value, Math.max(start, end));
  const from = Math.min(offsets[start] ?? 0, written.length);
  const to = Math.min(offsets[end] ?? written.length, written.length);
  return { start: scalar.range.start + from, end: scalar.range.start + Math.max(from + 1, to) };
}

/** For each offset of `value` up to `last`, the offset in `written` where that character stands. */
function alignOffsets(written: string, value: string, last: number): readonly number[] {
  const style = styleOf(written);
  const indent = /\n( *)\S/.exec(written)?.[1]?.length ?? 0;
  let at =
    style === 'plain'
      ? 0
      : style === 'literal' || style === 'folded'
        ? skipSpaces(written, written.indexOf('\n') + 1, indent)
        : 1;
  const offsets: number[] = [];
  for (let index = 0; index <= Math.min(last, value.length); index++) {
    offsets.push(at);
    const wanted = value.charAt(index);
    if (style === 'double' && written.charAt(at) === '\\') at += ESCAPE_LENGTHS[written.charAt(at + 1)] ?? 2;
    else if (style === 'single' && written.startsWith("''", at)) at += 2;
    else if (style === 'literal' && wanted === '\n') at = skipSpaces(written, written.indexOf('\n', at) + 1, indent);
    else if (wanted === '\n' || (wanted === ' ' && /^[ \t]*\r?\n/.test(written.slice(at, at + 80))))
      at = skipWhite(written, at);
    else at += 1;
  }
  return offsets;
}

const ESCAPE_LENGTHS: { readonly [letter: string]: number } = { x: 4, u: 6, U: 10 };

function styleOf(written: string): 'plain' | 'single' | 'double' | 'literal' | 'folded' {
  const first = written.charAt(0);
  return first === "'"
    ? 'single'
    : first === '"'
      ? 'double'
      : first === '|'
        ? 'literal'
        : first === '>'
          ? 'folded'
          : 'plain';
}

function skipSpaces(written: string, at: number, max: number): number {
  let end = at;
  while (written.charAt(end) === ' ' && end - at < max) end += 1;
  return end;
}

function skipWhite(written: string, at: number): number {
  let end = at;
  while (end < written.length && /\s/.test(written.charAt(end))) end += 1;
  return end;
}
