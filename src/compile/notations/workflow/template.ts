/**
 * Prompts. `{{name}}` may have blanks inside; whatever else stands in braces is plain text. Cutting a prompt into pieces
 * before anything is filled in is what makes the expansion a single pass.
 */
import type { Hole, Piece } from './model.ts';

export function piecesOf(prompt: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  for (const match of prompt.matchAll(HOLE)) {
    const start = match.index;
    if (start > done) pieces.push({ text: prompt.slice(done, start) });
    const written = match[0];
    done = start + written.length;
    pieces.push({ name: (match[1] ?? '').trim(), written, start, end: done });
  }
  if (done < prompt.length) pieces.push({ text: prompt.slice(done) });
  return pieces;
}

export function holesOf(pieces: readonly Piece[]): readonly Hole[] {
  return pieces.filter((piece): piece is Hole => 'name' in piece);
}

/** Whether a variable of this name could be written in braces. */
export function isVariableName(name: string): boolean {
  return name !== '' && name === name.trim() && !/[{}]/.test(name);
}

const HOLE = /\{\{([^{}]*)\}\}/g;
