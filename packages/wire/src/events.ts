/**
 * Public events of a run, for people and user interfaces. They are computed from the journal, so a reader can resume at any
 * sequence number. The journal's own events stay available for audits.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  EffectKey,
  EndState,
  FailedPart,
  Measure,
  TerminalCode,
  ThreadId,
  TypesOf,
} from '@sluice-internal/kernel/ir';

export interface Base {
  /** Sequence number of the journal event that this one was computed from. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}
/** An event of the run as a whole. `event.node` can be read without a check of its type. */
interface OfRun extends Base {
  readonly node?: undefined;
  readonly branch?: undefined;
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

/**
 * One control that a tool call met. `ok` is null if it has not decided: a person is asked, it waits, or it was not reached.
 * @example
 * const stopped = (controls: readonly ControlResult[]) => controls.find(({ ok }) => ok === false)?.control;
 */
export interface ControlResult {
  readonly control: string;
  readonly ok: boolean | null;
  readonly reason?: string;
}

/** The fields of each event of a node, beside its place. */
interface NodeEventFields {
  /** The run goes from one authored node to the next. `index`: which of the routes of `from`, from 0. */
  'route.taken': { from: string; to: string; index: number };
  'node.started': unknown;
  'node.finished': { durationMs: number; output: Json };
  'node.failed': { durationMs: number; error: EventError | null };
  'node.stopped': { durationMs: number };
  /** `condition`: the condition of a branch or step did not hold. `path`: the run has ended without entering the node. */
  'node.skipped': { reason: 'condition' | 'path' };
  'node.retried': { attempt: number; delayMs: number; error: EventError };
  'model.started': { agent: string; call: EffectKey };
  /** The reply broke off, and another request of the same call continues it. */
  'model.continued': { agent: string; reason: string; call: EffectKey };
  'model.finished': {
    agent: string;
    durationMs: number;
    text: string;
    inputTokens: number;
    outputTokens: number;
    costUsd: number;
    call: EffectKey;
  };
  /** A reply, or arguments of its calls, that are almost JSON were read without another call. */
  'reply.repaired': { agent: string; call: EffectKey; how: readonly string[] };
  /** `call` is the reply that proposed it. */
  'tool.proposed': { agent: string; tool: string; args: Json; call: EffectKey };
  /** Controls have judged a call before it is made. */
  'call.judged': { tool: string; controls: readonly ControlResult[] };
  'tool.refused': { tool: string; args: Json; reason: string; controls: readonly ControlResult[] };
  /** Each attempt. The first one has number 1. */
  'tool.started': { tool: string; args: Json; attempt: number; call: EffectKey };
  'tool.finished': { tool: string; args: Json; result: Json; durationMs: number; call: EffectKey };
  'tool.failed': { tool: string; args: Json; error: EventError; durationMs: number; call: EffectKey };
  /** It is not known if the call happened: it was in flight when a process stopped. */
  'tool.unknown': { call: EffectKey; tool: string; args: Json };
  /** Entries of memory that the run has read, and entries that are in quarantine and were not shown. */
  'memory.recalled': { entries: readonly string[]; quarantined: readonly string[] };
  /** `sources`: ids of the observations that support the entry. */
  'memory.written': {
    entry: string;
    trust: 'trusted' | 'untrusted';
    expiresAt: number;
    sources: readonly string[];
  };
  'memory.quarantined': { entry: string; reason: string };
  'memory.refused': { reason: string };
  'check.finished': { check: string; result: Json };
  /** `payload` is the hash of what is asked. An answer names it, so that it cannot be meant for another version of the question. */
  'question.asked': {
    question: string;
    payload: string;
    message: string;
    choices: readonly string[];
    /** What is asked, beside the message. The report on the run has the packet. */
    data: Json;
    askedBy: string;
    expiresAt: number | null;
  };
  'question.answered': { question: string; choice: string; by: string; text: string | null };
  /** One of several people who must agree. The question stays open. */
  'question.agreed': { question: string; choice: string; by: string; missing: number };
  /** An answer that the person may not give. The question stays open. */
  'question.refused': { question: string; choice: string; by: string; reason: string };
  /** The second level may answer too. */
  'question.escalated': { question: string; to: readonly string[] };
  'question.closed': { question: string; reason: 'join' | 'halt' };
  'wait.started': { signal: string | null; until: number | null };
  'wait.finished': { signal: string | null; data: Json; by: string };
  'budget.reached': { budget: string; left: number; needed: number };
  'budget.raised': { budget: string; by: number };
  /** A condition cannot be evaluated as it stands, so it does not hold. `guard` is the condition; null if the author wrote none. */
  'guard.failed': { guard: string | null; why: string };
  trouble: { message: string };
  'undo.started': { tool: string; args: Json };
  'undo.finished': { tool: string; error: EventError | null };
}

/** The reasons of `question.closed` in words. */
export const CLOSED_BECAUSE: { readonly [reason in NodeEventFields['question.closed']['reason']]: string } = {
  halt: 'the run was stopped',
  join: 'the join did not wait for its branch',
};

/** The fields of each event of the run as a whole. */
interface RunEventFields {
  'run.started': { flow: string; input: Json };
  /** A remark of a person to the agents, or to one of them. */
  'guidance.given': { by: string; text: string; agent: string | null };
  'run.cancelled': { by: string; reason: string };
  /** The run has most of what a run may have. `ends`: it has all of it, and stops. */
  'run.limited': { limit: 'events' | 'bytes'; used: number; max: number; ends: boolean };
  'budget.granted': { by: string; dimension: string; amount: number };
  /** `failure` is null for SUCCESS. */
  'run.ended': {
    state: EndState;
    code: TerminalCode;
    output: Json;
    error: EventError | null;
    failure: FailedPart | null;
  };
}

/** The fields of each event that is not told in a story. Streamed text is not stored, so a reader that resumes does not get it again. */
interface LiveEventFields {
  /** The call was admitted and is sent now. `tool.started` follows. */
  'tool.allowed': { tool: string; args: Json; call: EffectKey };
  /** The amounts of the run after a call was requested or has ended. `held` is reserved for calls that are open. */
  'budget.changed': { used: Used; held: Used; limit: Used };
  /** Text of a reply while it is generated. */
  'model.text': { agent: string; text: string; call: EffectKey; from: number };
  /** Reasoning of a model while it is generated. */
  'model.reasoning': { agent: string; text: string; call: EffectKey };
  /** Arguments of a tool call while they are generated: a piece of JSON text. `tool.proposed` has the whole. */
  'model.arguments': { agent: string; text: string; call: EffectKey };
}

/** One thing that happened in a run, computed from the journal alone. */
export type StoryEvent = (OfRun & TypesOf<RunEventFields>) | (InNode & TypesOf<NodeEventFields>);

/**
 * Amounts of a run, by dimension; money is in dollars.
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
export type RunEvent = { readonly id: EventId } & (StoryEvent | (InNode & TypesOf<LiveEventFields>));

/**
 * `<seq>.<index>`, for example `12.0`.
 * @example
 * const after: EventId = '12.0';
 */
export type EventId = `${number}.${number}`;
