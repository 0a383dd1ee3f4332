/** A workflow after reading: one spelling, all defaults filled in. Everything after reading works on this. */
import type { Verifier } from '@sluice-internal/compile/lower';
import type { ErrorMode, Mode } from './schema.ts';

export interface Workflow {
  readonly id: string;
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly index: number;
  readonly name: string;
  readonly mode: Mode;
  /** True if the mode was written but could not be read. */
  readonly unclear: boolean;
  /** The id in the agents of the compiled flow; empty for Collect, which calls no agent. */
  readonly agent: string;
  readonly prompt: readonly Piece[];
  /** The text that a Conditional or Loop looks for; empty for other modes. */
  readonly contains: string;
  readonly iterations: number;
  readonly timeoutMs: number;
  readonly onError: ErrorMode;
  readonly retries: number;
  readonly output: string | null;
  /** Judges the reply of the step. */
  readonly verifier: Verifier | null;
}

/** A prompt in pieces: plain text, or a name in braces with the way it was written. */
export type Piece = { readonly text: string } | Hole;
export interface Hole {
  readonly name: string;
  readonly written: string;
  /** Offsets of the whole `{{…}}` in the prompt. */
  readonly start: number;
  readonly end: number;
}

export const INPUT = 'input';
/** The first character of the placeholder for an agent whose name could not be read. */
export const NOBODY = '\u0000';

/** A single step, or consecutive FanOut steps with the Collect that follows them. */
export type Unit =
  | { readonly is: 'step'; readonly step: Step }
  | { readonly is: 'batch'; readonly branches: readonly Step[]; readonly collect: Step | null };

export function unitsOf(steps: readonly Step[]): readonly Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < steps.length;) {
    const step = steps[at] as Step;
    if (step.mode !== 'FanOut') {
      units.push({ is: 'step', step });
      at += 1;
      continue;
    }
    const branches: Step[] = [];
    while (steps[at]?.mode === 'FanOut') branches.push(steps[at++] as Step);
    const collect = steps[at]?.mode === 'Collect' ? (steps[at++] as Step) : null;
    units.push({ is: 'batch', branches, collect });
  }
  return units;
}

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

/** True if a variable of this name can be written in braces. */
export function isVariableName(name: string): boolean {
  return name !== '' && name === name.trim() && !/[{}]/.test(name);
}

const HOLE = /\{\{([^{}]*)\}\}/g;
