/** What other packages use of `guard/evidence`. */
export type { Evidence, EvidenceOptions, Observation, Validator, Verdict } from './evidence.ts';
export { evidencePerformer } from './performer.ts';
