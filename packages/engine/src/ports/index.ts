/** What other packages use of `engine/ports`. */
export { changeCursor, placeOfChange } from './changes.ts';
export { createVirtualClock, realClock } from './clock.ts';
export { operate, update, valueAt } from './cells.ts';
export type { MadeDecision } from './decisions.ts';
export { SluiceError, isErrorCode } from './errors.ts';
export type { ErrorCode } from './errors.ts';
export { PerformError, fail, failUnsent, failureOf, requireFailure } from './failures.ts';
export { identified, revokeKey } from './identity.ts';
export type { GivenAnswer } from './identity.ts';
export { KEEP_GONE_WORKERS_MS, mayAppend, ownerAfter, planClaim, renewalOf } from './leases.ts';
export { privateKeyIn, publicLine } from './keys.ts';
export type { WorkerLease } from './leases.ts';
export { hashMail, readMail } from './mail.ts';
export {
  MemoryViolation,
  entryHash,
  entryId,
  isOperator,
  isVisible,
  mayAccess,
  ownerKey,
  similarity,
  textOf,
  wordsOf,
} from './memory.ts';
export type {
  Embedder,
  MemoryCaller,
  MemoryEntry,
  MemoryOperator,
  MemoryQuery,
  MemoryScope,
  MemorySource,
  MemoryStore,
  OnViolation,
} from './memory.ts';
export { OPTIONS, refuseEmpty } from './options.ts';
export type { Meaning } from './options.ts';
export { allOf, cursorOfName, eachOf, limitOf, nameBefore, pageOf, placeOf } from './page.ts';
export { piiKey } from './pii-key.ts';
export { codecOfProcess } from './journal-key.ts';
export { NO_CODEC, codecOf, journalKeys, keyIdOf, resealed, resealedBytes } from './seal.ts';
export type { Codec, JournalKey, Place } from './seal.ts';
export { toolResult } from './plain-json.ts';
export type {
  Append,
  Asked,
  AskedQuestion,
  AttachmentOrigin,
  AttachmentStore,
  Awaited,
  Blob,
  Call,
  Cell,
  Cells,
  Clock,
  Hint,
  Index,
  Journal,
  Leases,
  Letter,
  ListedRun,
  Mail,
  MailFact,
  Notification,
  OpenQuestion,
  OpenRunsFilter,
  OperatorAct,
  Page,
  PageRequest,
  Performer,
  PiiStore,
  QuestionFilter,
  RunDetails,
  RunEntry,
  RunChange,
  RunEntryChange,
  RunFacts,
  RunFilter,
  ScriptedAnswer,
  SealedToken,
  Snapshot,
  Store,
  StoreClock,
  StoredAppend,
  StoredAttachment,
  StoredRun,
  StreamedPart,
  Tombstone,
  WorkerId,
} from './ports.ts';
export { guardedMemory, memoryBody, memoryEntry } from './stored-memory.ts';
export { newServerKey, serverKey } from './server-proof.ts';
export type { ServerKey } from './server-proof.ts';
export { thisProcess } from './process-owner.ts';
export { pure } from './pure.ts';
export { LIMITS, PERIODS, checkedQuota, takenOf, useAt } from './quota.ts';
export type { Quota, QuotaUse, WorstCase } from './quota.ts';
export { newRunId } from './run-id.ts';
export type { Packet, PacketEffect, PacketEvidence, PacketRepeat, PacketSource, PacketWhy } from './packet.ts';
export type {
  BudgetGrant,
  ChainedEvent,
  Delta,
  Engine,
  EngineHealth,
  EngineOptions,
  EventsOptions,
  FeedOptions,
  ForkOptions,
  GivenRemark,
  NoticeKind,
  OpenedRun,
  Report,
  StartOptions,
  StepResult,
  Usage,
  Waiting,
  WaitingApprovers,
} from './types.ts';
