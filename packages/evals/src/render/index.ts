/** What other packages use of `evals/render`. */
export { comparisonLine, metricRows, metricsHtml, metricsJUnit, metricsMarkdown } from './metrics.ts';
export type { MetricsReport } from './metrics.ts';
export { rehearsalHtml, rehearsalJUnit, rehearsalMarkdown } from './rehearsal.ts';
export { failedCases, suiteHtml, suiteJUnit, suiteMarkdown, suiteSummary } from './suite.ts';
