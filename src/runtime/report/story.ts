/** The facts of a run that its public events are computed from. */
import type { Program } from '../../core/program.ts';
import type { Json } from '../../expr/json.ts';
import type { EffectKey, RunState, ThreadId } from '../../ir/events.ts';
import type { NodeId } from '../../ir/nodes.ts';
import type { EventError } from './run-events.ts';

export interface Step {
  readonly name: string;
  /** The part of the document that the name stands for. Entries such as `workers/t1` share one. */
  readonly origin: string;
  readonly startedAt: number;
  output: Json;
  error: EventError | null;
}
export interface CallInfo {
  readonly kind: string;
  readonly name: string;
  readonly node: string;
  readonly thread: ThreadId;
  readonly startedAt: number;
  readonly args: Json;
  readonly questionId: string | null;
  readonly signal: string | null;
  result: Json;
  used: { readonly inputTokens?: number; readonly outputTokens?: number; readonly costMicros?: number };
  attempt: number;
}
export interface Story {
  readonly program: Program;
  state: RunState | null;
  /** The authored node that each branch is in. */
  readonly steps: Map<ThreadId, Step>;
  readonly calls: Map<EffectKey, CallInfo>;
  /** Nodes that were entered or reported as skipped. */
  readonly mentioned: Set<string>;
  /** The node of the last fork of each branch. */
  readonly forks: Map<ThreadId, NodeId>;
}
