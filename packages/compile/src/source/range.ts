/**
 * Places in a source text. Offsets are stored; lines and columns (1-based, in UTF-16 units as editors count them) are computed
 * only for messages.
 */
export interface Source {
  readonly file: string;
  readonly text: string;
  readonly lineStarts: readonly number[];
}

/** `path` replaces the position if there is no text, as for an object of a program. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly path?: string;
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

export const START: Range = { start: 0, end: 0 };

export function createSource(text: string, file: string): Source {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  return { file, text, lineStarts };
}

export function positionOf(source: Source, offset: number): Position {
  const starts = source.lineStarts;
  const clamped = Math.max(0, Math.min(offset, source.text.length));
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= clamped) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: clamped - (starts[low] ?? 0) + 1 };
}

/** The text of a 1-based line, without its line break. */
export function lineOf(source: Source, line: number): string {
  const start = source.lineStarts[line - 1];
  if (start === undefined) return '';
  const end = source.lineStarts[line] ?? source.text.length + 1;
  return source.text.slice(start, end - 1).replace(/\r$/, '');
}
