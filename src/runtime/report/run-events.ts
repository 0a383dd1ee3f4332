/**
 * Public events of a run, for people and user interfaces. They are computed from the journal, so a reader can resume at any
 * sequence number. The journal's own events stay available for audits.
 */
import type { Json } from '../../expr/json.ts';
import type { EndState, TerminalCode } from '../../ir/codes.ts';
import type { Measure } from '../../ir/dimensions.ts';
import type { ThreadId } from '../../ir/events.ts';

export interface Base {
  /** Sequence number of the journal event that this one was computed from. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}
export interface InNode extends Base {
  /** The authored node, step or agent. */
  readonly node: string;
  /** The branch, for example `0:2.1`. `0` is the main line. */
  readonly branch: ThreadId;
}
export interface EventError {
  readonly class: string;
  readonly type: string;
  readonly message: string;
}

/** One thing that happened in a run, computed from the journal alone. */
export type StoryEvent =
  | (Base & { readonly type: 'run.started'; readonly flow: string; readonly input: Json })
  | (InNode & { readonly type: 'node.started' })
  | (InNode & { readonly type: 'node.finished'; readonly durationMs: number; readonly output: Json })
  | (InNode & { readonly type: 'node.failed'; readonly durationMs: number; readonly error: EventError | null })
  | (InNode & { readonly type: 'node.stopped'; readonly durationMs: number })
  /** `condition`: the condition of a branch or step did not hold. `path`: the run has ended without entering the node. */
  | (InNode & { readonly type: 'node.skipped'; readonly reason: 'condition' | 'path' })
  | (InNode & {
      readonly type: 'node.retried';
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: EventError;
    })
  | (InNode & { readonly type: 'model.started'; readonly agent: string })
  /** The reply broke off, and another request of the same call continues it. */
  | (InNode & { readonly type: 'model.continued'; readonly agent: string; readonly reason: string })
  | (InNode & {
      readonly type: 'model.finished';
      readonly agent: string;
      readonly durationMs: number;
      readonly text: string;
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly costUsd: number;
    })
  | (InNode & { readonly type: 'tool.proposed'; readonly agent: string; readonly tool: string; readonly args: Json })
  | (InNode & {
      readonly type: 'tool.refused';
      readonly tool: string;
      readonly args: Json;
      readonly reason: string;
    })
  | (InNode & { readonly type: 'tool.started'; readonly tool: string; readonly args: Json })
  | (InNode & {
      readonly type: 'tool.finished';
      readonly tool: string;
      readonly args: Json;
      readonly result: Json;
      readonly durationMs: number;
    })
  | (InNode & {
      readonly type: 'tool.failed';
      readonly tool: string;
      readonly args: Json;
      readonly error: EventError;
      readonly durationMs: number;
    })
  /** Entries of memory that the run has read, and entries that are in quarantine and were not shown. */
  | (InNode & {
      readonly type: 'memory.recalled';
      readonly entries: readonly string[];
      readonly quarantined: readonly string[];
    })
  | (InNode & {
      readonly type: 'memory.written';
      readonly entry: string;
      readonly trust: 'trusted' | 'untrusted';
      readonly expiresAt: number;
      /** Ids of the observations that support it. */
      readonly sources: readonly string[];
    })
  | (InNode & { readonly type: 'memory.quarantined'; readonly entry: string; readonly reason: string })
  | (InNode & { readonly type: 'memory.refused'; readonly reason: string })
  | (InNode & { readonly type: 'check.finished'; readonly check: string; readonly result: Json })
  | (InNode & {
      readonly type: 'question.asked';
      readonly id: string;
      readonly message: string;
      readonly choices: readonly string[];
      readonly packet: Json;
      readonly askedBy: string;
      readonly expiresAt: number | null;
    })
  | (InNode & {
      readonly type: 'question.answered';
      readonly id: string;
      readonly choice: string;
      readonly by: string;
      readonly text: string | null;
    })
  /** One of several people who must agree. The question stays open. */
  | (InNode & {
      readonly type: 'question.agreed';
      readonly id: string;
      readonly choice: string;
      readonly by: string;
      readonly missing: number;
    })
  /** An answer that the person may not give. The question stays open. */
  | (InNode & {
      readonly type: 'question.refused';
      readonly id: string;
      readonly choice: string;
      readonly by: string;
      readonly reason: string;
    })
  /** The second level may answer too. */
  | (InNode & { readonly type: 'question.escalated'; readonly id: string; readonly to: readonly string[] })
  | (InNode & { readonly type: 'wait.started'; readonly signal: string | null; readonly until: number | null })
  | (InNode & {
      readonly type: 'wait.finished';
      readonly signal: string | null;
      readonly data: Json;
      readonly by: string;
    })
  | (InNode & { readonly type: 'question.closed'; readonly id: string; readonly reason: string })
  | (InNode & {
      readonly type: 'budget.reached';
      readonly budget: string;
      readonly left: number;
      readonly needed: number;
    })
  | (InNode & { readonly type: 'budget.raised'; readonly budget: string; readonly by: number })
  | (InNode & { readonly type: 'trouble'; readonly message: string })
  | (InNode & { readonly type: 'undo.started'; readonly tool: string; readonly args: Json })
  | (InNode & { readonly type: 'undo.finished'; readonly tool: string; readonly error: EventError | null })
  | (Base & { readonly type: 'run.cancelled'; readonly by: string; readonly reason: string })
  | (Base & {
      readonly type: 'run.ended';
      readonly state: EndState;
      readonly code: TerminalCode;
      readonly output: Json;
      readonly error: EventError | null;
    });

/**
 * Amounts that a run has used so far, by dimension; money is in dollars.
 * @example
 * const shown = ({ modelCalls = 0, costUsd = 0 }: Used) => `${modelCalls} calls, $${costUsd}`;
 */
export type Used = { readonly [dimension in Measure]?: number };

/**
 * One thing that happened in a run. `id` is the position for `after`: several events can come from one journal event, and
 * share its `seq`.
 *
 * @example
 * for await (const event of run.events()) {
 *   if (event.type === 'tool.finished') console.log(event.tool, event.args, event.result);
 * }
 */
export type RunEvent = { readonly id: EventId } & (
  | StoryEvent
  /** The call was admitted and is sent now. `tool.started` follows. */
  | (InNode & { readonly type: 'tool.allowed'; readonly tool: string; readonly args: Json })
  /** The totals of the run after a call. */
  | (InNode & { readonly type: 'budget.changed'; readonly used: Used })
  /** Text of a reply while it is generated. It is not stored, so a reader that resumes does not get it again. */
  | (InNode & { readonly type: 'model.text'; readonly agent: string; readonly text: string })
  /** Reasoning of a model while it is generated. It is not stored. */
  | (InNode & { readonly type: 'model.reasoning'; readonly agent: string; readonly text: string })
  /** Arguments of a tool call while they are generated: a piece of JSON text. It is not stored; `tool.proposed` has the whole. */
  | (InNode & { readonly type: 'model.arguments'; readonly agent: string; readonly text: string })
);

/**
 * `<seq>.<index>`, for example `12.0`.
 * @example
 * const after: EventId = '12.0';
 */
export type EventId = `${number}.${number}`;
