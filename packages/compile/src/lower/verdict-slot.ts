/** The slot of the last verdict on an answer, and what it objects to. */
import type { Expr } from '@sluice-internal/kernel/ir';

/** The last verdict on an answer: `{ by, ok, problem, missing, confidence, conflict, scripted }`. */
export const VERDICT = '_verdict';

/** The objection of a verdict, with what is missing. */
export const OBJECTION: Expr = `text(${VERDICT}.problem, size(${VERDICT}.missing) > 0 ? text("; missing: ", join(${VERDICT}.missing, ", ")) : "")`;
