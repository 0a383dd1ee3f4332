/** The last verdict on an answer: `{ by, ok, problem, confidence, conflict, scripted }`. */
export const VERDICT = '_verdict';
