/** The public interface of the library. Everything that is not exported here may change. */
// First, so that an old Node gets this error and no other.
export { MINIMUM_NODE } from './node-version.ts';
export { compile } from './surfaces/library/compile.ts';
export { createEngine } from './surfaces/library/create-engine.ts';
export type { CreateEngineOptions, Engine, EngineStartOptions, RunOptions } from './surfaces/library/create-engine.ts';
export type { AnswerOptions, ReadOptions, Result, Run } from './surfaces/library/run.ts';
export type { Migration } from './surfaces/migrate/migrate.ts';
export type { AgentEdit, ForkEdits } from './surfaces/fork.ts';
export { CompileError, RunFailedError } from './surfaces/library/errors.ts';
export { agent } from './surfaces/library/define/agent.ts';
export type { Agent, AgentOptions, Reply } from './surfaces/library/define/agent.ts';
export { code, tool } from './surfaces/library/define/tool.ts';
export type { Effect, Tool } from './surfaces/library/define/tool.ts';
export { cel, text } from './surfaces/library/define/expression.ts';
export type { Expression, Ref } from './surfaces/library/define/expression.ts';
export { jsonSchema } from './surfaces/library/define/schema.ts';
export type { JsonSchema, StandardSchema } from './surfaces/library/define/schema.ts';
export type { Budgets } from './surfaces/library/define/budgets.ts';
export type { Definition, InputFor, OutputFor, QuestionsFor, Settings } from './surfaces/library/define/definition.ts';
export type { Flow, EndedFlow, Failure, Retry } from './surfaces/library/define/flow-types.ts';
export type { Workflow } from './surfaces/library/define/workflow.ts';
export { flow, loop, staged, team, workflow } from './surfaces/library/define/builders.ts';
export { attachment } from './effects/attachments/input.ts';
export type { Attachment, RunInput } from './effects/attachments/input.ts';
export type { AttachmentSource } from './effects/attachments/source.ts';
export type { AttachmentRef } from './ir/attachment.ts';
export type { AttachmentStore, StoredAttachment } from './runtime/ports.ts';
export type { ModelPerformerOptions } from './effects/models/performer.ts';
export type { ModelObjects, WorldOptions, WorldToolOptions } from './effects/world.ts';
export { discoverMcp } from './effects/mcp/discover.ts';
export { readMcpLock } from './catalog/mcp-lock.ts';
export type { McpLock, McpTool } from './catalog/mcp-lock.ts';
export { toolPerformer } from './effects/tools/performer.ts';
export type { ToolPerformer } from './effects/tools/performer.ts';
export type { ToolOptions } from './effects/tools/tool.ts';
export type { ModuleContext, ModuleTool } from './effects/tools/module.ts';
export { shellRunner } from './effects/tools/sandbox.ts';
export { evidencePerformer } from './effects/evidence/performer.ts';
export type { Evidence, EvidenceOptions, Observation, Validator, Verdict } from './effects/evidence/evidence.ts';
export { openMemory } from './stores/memory/open.ts';
export { openSqlite } from './stores/sqlite/open.ts';
export { PerformError } from './runtime/failures.ts';
export { SluiceError } from './runtime/errors.ts';
export { audit, replay } from './runtime/journal/audit.ts';
export { TERMINAL_CODES, RUN_STATES } from './ir/codes.ts';

export type { CompileResult } from './compile/compile.ts';
export type { Diagnostic } from './compile/diagnose/diagnostics.ts';
export type { TerminalCode, RunStatus, FailureClass } from './ir/codes.ts';
export type { CompiledFlow } from './ir/nodes.ts';
export type { Json } from './expr/json.ts';
export type { Answer, Event, Origin } from './ir/events.ts';
export type { ModelFunction, ModelReply, ModelRequest, ToolContext, ToolFunction } from './effects/functions.ts';
export type {
  ChainedEvent,
  Delta,
  EventsOptions,
  Report,
  StartOptions,
  StepResult,
  Usage,
  Waiting,
  WaitingApprovers,
} from './runtime/engine/types.ts';
export type { Call, Clock, Journal, Performer, Roster, Store } from './runtime/ports.ts';
export type { Quota } from './runtime/quotas/quota.ts';
export type { EventId, RunEvent, Used } from './runtime/report/run-events.ts';
export type { Message } from './effects/prompt/prompt.ts';
export type { PiiStore } from './runtime/ports.ts';
export { createMemoryStore, openMemoryStore } from './stores/sqlite/memory-store.ts';
export { MemoryViolation } from './runtime/memory.ts';
export type {
  Embedder,
  MemoryCaller,
  MemoryEntry,
  MemoryOperator,
  MemoryQuery,
  MemoryScope,
  MemorySource,
  MemoryStore,
} from './runtime/memory.ts';
