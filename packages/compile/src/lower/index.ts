/** What other packages use of `compile/lower`. */
export { REPLIED, addTurn } from './agent-turn/agent-turn.ts';
export { MODEL_RETRY, modelRetry } from './agent-turn/model-retry.ts';
export { addCalls, resultRules } from './agent-turn/calls.ts';
export { BIND_CHECK, GROUNDING_CHECK, ON_VIOLATIONS, REFERS, VALUES, groundingInput } from './agent-turn/grounding.ts';
export type { OnViolation } from './agent-turn/grounding.ts';
export { OBSERVATIONS, REPLY, TALK, receiptsIn } from './agent-turn/turn.ts';
export type { AgentTurn } from './agent-turn/turn.ts';
export { ABSENT, LOOKUP, MAY_HAVE_HAPPENED, argsIn, hasNoKey, isRisky, lookupOf } from './agent-turn/unknown.ts';
export { addAttempts } from './attempt.ts';
export type { Attempts } from './attempt.ts';
export { CLOCK, EFFECT_DIMENSIONS, STEPS } from './budget-meters.ts';
export type { Builder, Lowered } from './builder-types.ts';
export { TooManyNodes, createBuilder } from './builder.ts';
export { rowOfTool, tracedBy } from '@sluice-internal/controls';
export { IF_OBJECT, ONE_REPAIR, REPAIR_THEN_PASS, WHOLE_IF_OBJECT, isObjectSchema, replyMode } from './fit.ts';
export { GUIDANCE } from './guidance-slot.ts';
export { REMARK, REMARKS, heardBy, hearsAs } from './guidance.ts';
export { NO_RETRY, append, classified, createKit, errorOf, set, setField } from './kit.ts';
export type { Call, Failure, Kit, Question, Step } from './kit.ts';
export {
  allEntries,
  memoryMessages,
  readInput,
  untrustedEntries,
  withheldEntries,
  writeEffect,
} from './memory/checks.ts';
export { dropAnswers } from './memory/memory.ts';
export type { StageProtections } from './protected-call.ts';
export { controlsOfNode } from './controlled.ts';
export { FAILED, addRecoveries, addRecovery, decided, recoveryStart } from './recovery.ts';
export type { Recoveries, Ways } from './recovery.ts';
export { OBJECTION, VERDICT } from './verdict-slot.ts';
export { addVerifier, confidenceIn } from './verifier.ts';
export { DEFAULT_VERIFIER, verifierOf } from './verifier-def.ts';
export type { RawVerifier, Verifier } from './verifier-def.ts';
