/**
 * Maps a part of a text value to its range in the document. Expressions and templates know offsets in their own text; quotes,
 * escapes, folded lines and block indentation shift these in the document.
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

/** For each offset of `value` up to `last`: the offset in `written` of that character. */
function alignOffsets(written: string, value: string, last: number): readonly number[] {
  const style = STYLES[written.charAt(0)] ?? 'plain';
  const indent = /\n( *)\S/.exec(written)?.[1]?.length ?? 0;
  const offsets: number[] = [];
  let at = textStart(written, style, indent);
  for (let index = 0; index <= Math.min(last, value.length); index++) {
    offsets.push(at);
    at = afterCharacter(written, at, value.charAt(index), style, indent);
  }
  return offsets;
}

function textStart(written: string, style: Style, indent: number): number {
  if (style === 'plain') return 0;
  if (style === 'single' || style === 'double') return 1;
  return skipSpaces(written, written.indexOf('\n') + 1, indent);
}

/** The offset in `written` that follows the character `wanted` of the value. */
function afterCharacter(written: string, at: number, wanted: string, style: Style, indent: number): number {
  if (style === 'double' && written.charAt(at) === '\\') return at + (ESCAPE_LENGTHS[written.charAt(at + 1)] ?? 2);
  if (style === 'single' && written.startsWith("''", at)) return at + 2;
  if (style === 'literal' && wanted === '\n') return skipSpaces(written, written.indexOf('\n', at) + 1, indent);
  const folded = wanted === ' ' && /^[ \t]*\r?\n/.test(written.slice(at, at + 80));
  return wanted === '\n' || folded ? skipWhite(written, at) : at + 1;
}

type Style = 'plain' | 'single' | 'double' | 'literal' | 'folded';

const STYLES: { readonly [first: string]: Style } = { "'": 'single', '"': 'double', '|': 'literal', '>': 'folded' };
const ESCAPE_LENGTHS: { readonly [letter: string]: number } = { x: 4, u: 6, U: 10 };

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
