/** What other packages use of `evals/diagnose`. */
export { diagnose } from './diagnose.ts';
export type { Diagnosis } from './diagnose.ts';
export { judgeFailure } from './judge.ts';
export type { JudgeOptions, Judged } from './judge.ts';
