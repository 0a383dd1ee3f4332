/** The public interface of the library. Everything that is not exported here may change. */
// First, so that an old Node gets this error and no other.
export { MINIMUM_NODE } from './node-version.ts';
export type {
  Access,
  Caller,
  CallerProof,
  Engine,
  EngineStartOptions,
  EngineView,
  OpenOptions,
  RunOptions,
} from './engine.ts';
export { compile } from './compile.ts';
export { createEngine } from './create-engine.ts';
export type { CreateEngineOptions } from './create-engine.ts';
export type { RunAt, SlotValue } from './host/run-state.ts';
export type { AnswerOptions, ReadOptions, Result, ResultOptions, Run } from './run.ts';
export type { Migration } from './host/migrate/migrate.ts';
export type { AgentEdit, ForkEdits } from './host/fork.ts';
export type { RetryOptions } from './host/retry.ts';
export { CompileError, RunFailedError, RunWaitsError } from './host/errors.ts';
export { agent } from './define/agent.ts';
export type { Agent, AgentOptions, Reply } from './define/agent.ts';
export { code, tool } from './define/tool.ts';
export type { Effect, Tool, ToolTimes } from './define/tool.ts';
export { cel, text } from './define/expression.ts';
export type { Expression, Ref } from './define/expression.ts';
export { jsonSchema } from './define/schema.ts';
export type { JsonSchema, StandardSchema } from './define/schema.ts';
export type { Budgets } from './define/budgets.ts';
export type { Definition, InputFor, OutputFor, QuestionsFor, Settings } from './define/definition.ts';
export type { Flow, EndedFlow, Failure, Retry } from './define/flow-types.ts';
export type { Workflow } from './define/workflow.ts';
export { flow, loop, staged, team, workflow } from './define/builders.ts';
export { attachment, shellRunner } from '@sluice-internal/tools/calls';
export type { Attachment, ModuleContext, ModuleTool, RunInput, ToolOptions } from '@sluice-internal/tools/calls';
export type { AttachmentSource, Message } from '@sluice-internal/platform';
export { RUN_STATES, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
export type {
  Answer,
  AttachmentRef,
  CompiledFlow,
  Event,
  FailureClass,
  Origin,
  RunStatus,
  TerminalCode,
} from '@sluice-internal/kernel/ir';
export { MemoryViolation, PerformError, SluiceError } from '@sluice-internal/engine/ports';
export type {
  AttachmentStore,
  BudgetGrant,
  Call,
  ChainedEvent,
  Clock,
  Delta,
  Embedder,
  EventsOptions,
  Index,
  Journal,
  Leases,
  Letter,
  Mail,
  MemoryCaller,
  MemoryEntry,
  MemoryOperator,
  MemoryQuery,
  MemoryScope,
  MemorySource,
  MemoryStore,
  Packet,
  PacketEffect,
  PacketEvidence,
  PacketRepeat,
  PacketSource,
  PacketWhy,
  Performer,
  PiiStore,
  Quota,
  Report,
  StartOptions,
  StepResult,
  Store,
  StoredAttachment,
  Usage,
  Waiting,
  WaitingApprovers,
} from '@sluice-internal/engine/ports';
export type { ModelPerformerOptions } from '@sluice-internal/models';
export { discoverMcp } from '@sluice-internal/tools/mcp';
export { readMcpLock } from '@sluice-internal/kernel/catalog';
export type { McpLock, McpTool } from '@sluice-internal/kernel/catalog';
export { evidencePerformer } from '@sluice-internal/guard/evidence';
export type { Evidence, EvidenceOptions, Observation, Validator, Verdict } from '@sluice-internal/guard/evidence';
export { openMemory } from '@sluice-internal/engine/memory';
export { openPostgres } from '@sluice-internal/store-postgres';
export type { PostgresOptions, PostgresStore } from '@sluice-internal/store-postgres';
export { createMemoryStore, openMemoryStore, openSqlite } from '@sluice-internal/store-sqlite';
export { codecOf, journalKeys } from '@sluice-internal/engine/ports';
export type { Codec, JournalKey, Place } from '@sluice-internal/engine/ports';
export { audit, replay } from '@sluice-internal/engine/audit';
export type { CompileResult } from '@sluice-internal/notations/driver';
export type { Diagnostic } from '@sluice-internal/compile/source';
export type { Json } from '@sluice-internal/kernel/expr';
export type {
  Bar,
  ControlResult,
  EventId,
  NodeView,
  OpenQuestion,
  RunEvent,
  RunView,
  Used,
  Visit,
} from '@sluice-internal/wire';
export type { ModelObjects, WorldOptions, WorldToolOptions } from './host/world.ts';
export { toolPerformer } from './host/performer.ts';
export type { ToolPerformer } from './host/performer.ts';

export type { ModelFunction, ModelReply, ModelRequest } from './host/functions.ts';
export type { ToolContext, ToolFunction } from '@sluice-internal/tools/calls';
