/** What other packages use of `evals/metrics`. */
export { compareFigures } from './compare.ts';
export type { Comparison } from './compare.ts';
export { figuresOf, measureRun, sampleOf, valuesOf } from './measure.ts';
export type { Figure, RunSample } from './measure.ts';
export { METRICS } from './table.ts';
