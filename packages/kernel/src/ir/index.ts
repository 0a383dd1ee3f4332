/** What other packages use of `kernel/ir`. */
export { attachmentIds } from './attachment.ts';
export type { AttachmentRef } from './attachment.ts';
export { inherited } from './branches.ts';
export {
  FAILING_CODES,
  FAILURE_CLASSES,
  RUN_STATES,
  SUSPENDING_CODES,
  TERMINAL_CODES,
  hasEnded,
  BY_AUTHOR,
  isGood,
} from './codes.ts';
export type { DecidedBy, EndState, FailedPart, FailureClass, RunStatus, TerminalCode } from './codes.ts';
export type { Command } from './commands.ts';
export { CONTROLS_CHECK, asksOf, failuresOf, withAsks } from './controls.ts';
export type { Judged } from './controls.ts';
export {
  BUDGET_DIMENSIONS,
  BUDGET_ROWS,
  DIMENSION_ROWS,
  callAmounts,
  dimensionRow,
  isMeasured,
  measuredAmount,
  shownAmount,
} from './dimensions.ts';
export type { Amounts, BudgetKey, BudgetRow, Dimension, DimensionRow, Measure } from './dimensions.ts';
export { CLASS_CONTROLS, EFFECT_CLASSES, RISKY, asksAboutRepeats, hasEffects, onlyReads } from './effect-classes.ts';
export type { EffectClass } from './effect-classes.ts';
export { DEFAULT_MODEL, costOf, highestFactor, hourPrice, limitsInput, priceIn } from './estimate.ts';
export type { Price } from './estimate.ts';
export type {
  Event,
  EventBody,
  Outcome,
  RunLimit,
  Pending,
  Recorded,
  RunState,
  Slots,
  Thread,
  WriteRecord,
} from './events.ts';
export type {
  AgentEdits,
  Answer,
  BreakerCause,
  BreakerStatus,
  EffectKey,
  ErrorRecord,
  Fact,
  Failure,
  Instant,
  Origin,
  Parent,
  Pins,
  ProtectionNote,
  RunId,
  Settled,
  Sent,
  SlotEdit,
  ThreadId,
  TypesOf,
} from './facts.ts';
export { LIMITS, NEAR, TURN_EVENTS } from './limits.ts';
export { budgetMeter, clockOf, countsVisits, isCounted, isVelocity, overTarget, shortfall } from './meters.ts';
export { STATED, statedOf, statesOfCalls } from './stated.ts';
export type { Stated } from './stated.ts';
export { REASONING_EFFORTS } from './nodes.ts';
export type {
  AgentDef,
  AskControl,
  AskEffect,
  Asking,
  BoundaryDef,
  CallSettings,
  Case,
  CheckControl,
  Compensation,
  CheckEffect,
  Choice,
  Claim,
  CompiledFlow,
  Consequence,
  Control,
  Controls,
  Hears,
  DoNode,
  EffectKind,
  EndNode,
  Expr,
  ExprControl,
  FlowBody,
  ForkNode,
  Input,
  Instead,
  LetNode,
  Meter,
  MeterControl,
  MeterId,
  ModelEffect,
  Node,
  NodeId,
  PickNode,
  RefusalError,
  Retry,
  ToolDef,
  ToolEffect,
  Write,
} from './nodes.ts';
export { identitiesOf, personIn, samePerson } from './identity.ts';
export type { Identity } from './identity.ts';
export { approvingChoices } from './people.ts';
export type { Approvers, AskPurpose, NotifyHook, PeopleDef, PersonDef, Proof, ReviewNote } from './people.ts';
export type { CustomPii, PiiPolicy } from './pii.ts';
export {
  DEFAULT_RETRY_BUDGET,
  FAILURE_KINDS,
  RECALLS_MAX,
  RETRY_CHECK,
  TIERS,
  VERDICT_CHECK,
  recoveryClassOf,
} from './protections.ts';
export type {
  BreakerRules,
  Decision,
  FailureKind,
  Notice,
  RateRules,
  RecoveryAction,
  RetryBudgetRules,
  SharedProtections,
  Tier,
} from './protections.ts';
export type { Question, QuestionEvent, Refusal } from './questions.ts';
export type { Retention, View } from './view.ts';
