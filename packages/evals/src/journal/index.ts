/** What other packages use of `evals/journal`. */
export { ART_SCHEMA } from './art-schema.ts';
export { agentRunTrace } from './art.ts';
export { explain } from './explain.ts';
export { otelTrace } from './otel.ts';
export { recordOf } from './record.ts';
export type { RunRecord } from './record.ts';
