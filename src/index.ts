/** Sluice as a library. What is exported here is the contract; everything else may change. */
export { compile } from './surfaces/library/compile.ts';
export { createEngine } from './surfaces/library/create-engine.ts';
export type { CreateEngineOptions } from './surfaces/library/create-engine.ts';
export type { ModelPerformerOptions } from './adapters/models/performer.ts';
export { flow } from './compile/builders/flow.ts';
export { loop } from './compile/builders/loop.ts';
export { team } from './compile/builders/team.ts';
export { workflow } from './compile/builders/workflow.ts';
export { toolPerformer } from './adapters/tools/performer.ts';
export type { ToolPerformer } from './adapters/tools/performer.ts';
export type { ToolOptions } from './adapters/tools/context.ts';
export type { ModuleContext, ModuleTool } from './adapters/tools/module-tool.ts';
export { shellRunner } from './adapters/tools/shell.ts';
export { evidencePerformer } from './adapters/evidence/performer.ts';
export type { Evidence, EvidenceOptions, Observation, Validator, Verdict } from './adapters/evidence/evidence.ts';
export { openMemory } from './adapters/memory/open.ts';
export { openSqlite } from './adapters/sqlite/open.ts';
export { PerformError } from './runtime/failures.ts';
export { SluiceError } from './runtime/sluice-error.ts';
export { audit, replay } from './runtime/audit.ts';
export { TERMINAL_CODES, RUN_STATES } from './core/codes.ts';

export type { CompileResult } from './compile/compile.ts';
export type { Diagnostic } from './compile/diagnostics.ts';
export type { TerminalCode, RunStatus, FailureClass } from './core/codes.ts';
export type { CompiledFlow } from './core/ir.ts';
export type { Json } from './core/json.ts';
export type { Answer, Event, Origin } from './core/run.ts';
export type {
  ModelFunction,
  ModelReply,
  ModelRequest,
  ToolContext,
  ToolFunction,
} from './adapters/functions/performer.ts';
export type {
  ChainedEvent,
  Delta,
  Engine,
  EventsOptions,
  Report,
  StartOptions,
  StepResult,
  Usage,
  Waiting,
} from './runtime/engine-types.ts';
export type { Call, Clock, Journal, Performer, Roster, Store } from './runtime/ports.ts';
export type { Message } from './runtime/prompt.ts';
export type { BoundaryOptions, PiiPipeline } from './runtime/boundary.ts';
export { MemoryViolation, ScopedMemory } from './runtime/scoped-memory.ts';
export type { MemoryStore } from './runtime/scoped-memory.ts';
export { CATEGORIES, openState, StateViolation } from './runtime/state-stores.ts';
export type { Actor, CategoryName, StateStores } from './runtime/state-stores.ts';
