/** What other packages use of `kernel/catalog`. */
export { ATTACHMENT_KINDS, kindOf, kindsTakenBy } from './attachment-kinds.ts';
export type { AttachmentKind } from './attachment-kinds.ts';
export {
  BUILTIN_TOOLS,
  BUILTIN_TOOL_NAMES,
  PLUGINS,
  TOOL_CATEGORIES,
  builtinTool,
  isBuiltinTool,
} from './builtin-tools.ts';
export type { BuiltinTool, BuiltinToolName } from './builtin-tools.ts';
export { ESCALATIONS, escalationOf, escalationOfEnd } from './escalations.ts';
export type { Escalation, EscalationId } from './escalations.ts';
export { KIND_CLASSES, REPLANS_MAX, STUCK_CAUSES, cellOf, decisionOf, mastOf } from './failures.ts';
export type { Cell, CellChange, TriedAction } from './failures.ts';
export { changedParts, lockFileOf, lockedTool, readMcpLock, usableSchema } from './mcp-lock.ts';
export type { McpLock, McpTool } from './mcp-lock.ts';
export { PHONE_REGIONS, PII_PATTERNS, PII_TYPES } from './pii.ts';
export type { DetectedPii, PiiPattern } from './pii.ts';
export { argumentsType, policySchema, stagesIn } from './policy-schema.ts';
export type { PolicyChecker, PolicyProblem, PolicyType } from './policy-schema.ts';
export { MUTATING, PROFILES, speaksOf } from './profiles.ts';
export type { Effect, Row } from './profiles.ts';
export { VERIFIER, VERIFIER_PROMPT } from './verifier.ts';
export { SDK_OPTIONS, keepsForHour } from './provider-options.ts';
export {
  CUSTOM_PROVIDER,
  PACKAGE_PROVIDER,
  PROVIDERS,
  isReasoningModel,
  keysIn,
  packageOf,
  readModelRef,
} from './providers.ts';
export type { ModelRef, Protocol, Provider } from './providers.ts';
export { FROM_STDIN, OF_PROGRAM, UNNAMED_SCRIPTS } from './unnamed-scripts.ts';
export {
  ARTIFACTS,
  CONTEXT_SOURCES,
  EVIDENCE_FAILURES,
  OPEN_GATES,
  PREDICATES,
  RUN_GATE,
  VALIDATORS,
  VALIDATOR_ALIASES,
} from './validators.ts';
export type { EvidenceFailure, PredicateName, ValidatorName } from './validators.ts';
