/**
 * The names of the checks that read evidence, and where their data is kept. The compiler reads the names from here, and
 * the performer has one check for each.
 */
export const VALIDATORS = [
  'RequireBrief',
  'RequireWriteFile',
  'RequireAllFilesWritten',
  'RequireShellPass',
  'TestReportValid',
  'RequireReviewJudgement',
  'RequireAcceptanceCriteriaPassed',
  'RequireRelatedTestsPass',
  'BlockOnConsecutiveFail',
  'ArchitectureValidator',
  'RequireSessionContextWrite',
] as const;
export type ValidatorName = (typeof VALIDATORS)[number];

/** Names that some documents use for one of the above. */
export const VALIDATOR_ALIASES: { readonly [alias: string]: ValidatorName } = {
  RequireAcceptanceCriteriaPassedValidator: 'RequireAcceptanceCriteriaPassed',
};

/** The check that says what gates still need, and refuses nothing. */
export const OPEN_GATES = 'gates:open';
/** The check that runs a command of the author in the sandbox, and passes if it exits with 0. */
export const RUN_GATE = 'gates:run';

/** The requirements of a contract. */
export const PREDICATES = [
  'FilesWritten',
  'CommandSucceeded',
  'FileExists',
  'TestReport',
  'ChecklistComplete',
  'BriefComplete',
  'RelatedTestsPass',
] as const;
export type PredicateName = (typeof PREDICATES)[number];

/** Sources of text for an agent's context. The last three take an argument after a colon. */
export const CONTEXT_SOURCES = ['session_context', 'changes_recent', 'brief_field', 'file'] as const;

/** In the order in which a failed check is classified. */
export const EVIDENCE_FAILURES = ['NoProgress', 'ConflictingEvidence', 'MissingEvidence', 'InvalidTransition'] as const;
export type EvidenceFailure = (typeof EVIDENCE_FAILURES)[number];

/** Relative to the work directory. `state` is written by tools of the engine's own and by nothing else. */
export const ARTIFACTS = {
  brief: '.fuseraft/artifacts/brief.json',
  testReport: '.fuseraft/artifacts/test-report.json',
  architecture: '.fuseraft/architecture.yaml',
  state: '.fuseraft/state',
} as const;
