/** The script format: scripted model replies, tool results and answers of people. */
import type { FailureClass } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';

export type ScriptedFailure = 'transient' | 'timeout' | 'rate_limit' | 'refused' | 'fatal';
export interface EntryBase {
  /** CEL over `input`: the whole prompt, or the tool's arguments, as text. The first entry whose `when` holds is used. */
  readonly when?: string;
  readonly delayMs?: number;
  readonly error?: ScriptedFailure;
  readonly message?: string;
  readonly type?: string;
}
/**
 * A scripted reply of a model.
 * @example
 * const entry: ModelEntry = { text: 'Hello.', usage: { input: 12, output: 2 }, delayMs: 500 };
 */
export interface ModelEntry extends EntryBase {
  readonly text?: string;
  readonly usage?: { readonly input?: number; readonly output?: number };
  readonly tools?: readonly { readonly name: string; readonly args?: Json }[];
  /** A verdict of a verifier, in the place of `text`. */
  readonly ok?: boolean;
  readonly problem?: string | null;
  readonly missing?: readonly string[];
  readonly confidence?: number | null;
  readonly conflict?: Json;
}
/**
 * A scripted result of a tool.
 * @example
 * const entry: ToolEntry = { result: { paid: true } };
 */
export interface ToolEntry extends EntryBase {
  readonly result?: Json;
}
/**
 * An entry needs a `choice`, or `expires`.
 * @example
 * const entry: AnswerEntry = { choice: 'approve', by: 'anna' };
 */
export interface AnswerEntry {
  readonly choice?: string;
  /** No person answers: the timeout of the question passes. */
  readonly expires?: boolean;
  readonly text?: string;
  readonly edit?: Json;
  /** Data for the `fields` of an approval node. */
  readonly data?: Json;
  /** The people who give this answer. Default: people who may answer. */
  readonly by?: string | readonly string[];
}
export type ApprovalEntry = string | AnswerEntry;
/** A list of entries, or a single entry. */
export type Entries<Entry> = Entry | readonly Entry[];
/**
 * Scripted models, tools, people and signals.
 * @example
 * const script: Script = { agents: { triage: ['{"kind": "other"}'] }, approvals: { gate: 'approve' } };
 * const own = createEngine({ journal: openMemory(), script });
 */
export interface Script {
  /** By agent id or name. One entry per model call, in order. The last entry repeats unless the script is strict. */
  readonly agents?: { readonly [agent: string]: Entries<string | ModelEntry> };
  readonly tools?: { readonly [tool: string]: Entries<ToolEntry> };
  /** By node, route target, tool name or approval id. */
  readonly approvals?: { readonly [about: string]: Entries<ApprovalEntry> };
  /** By `wait` node: the data of the signal. A list has one entry for each time the node waits. */
  readonly signals?: { readonly [node: string]: Json };
  readonly clock?: 'virtual' | 'real';
  readonly strict?: boolean;
}

export const SCRIPTED_TYPES = {
  transient: 'TransientError',
  timeout: 'TimeoutError',
  rate_limit: 'RateLimitError',
  refused: 'RefusalError',
  fatal: 'FatalError',
} as const satisfies { readonly [failure in ScriptedFailure]: string } & {
  readonly [failure in FailureClass]?: string;
};
