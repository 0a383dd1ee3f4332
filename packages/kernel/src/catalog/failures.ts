/**
 * The failure decision table as data: eight kinds of failure by three tiers. A cell lists the actions to try, each a number of
 * times, and the action that follows when they are used up. Also the failure modes of the MAST taxonomy.
 */

import type { Decision, FailureKind, MastId, Notice, RecoveryAction, RecoveryClass, Tier } from '../ir/protections.ts';

/** An action that is tried again: `retry` repeats the step, `replan` goes back to the plan, `fallback` takes another model. */
export type TriedAction = Extract<RecoveryAction, 'retry' | 'replan' | 'fallback'>;
/** An action that ends the recovery. `fallback` gives the safe answer of the document. */
type LastAction = Extract<RecoveryAction, 'escalate' | 'abort' | 'surface' | 'fallback'>;

export interface Cell {
  /** The action is blocked first. It is recorded as a decision of its own. */
  readonly blocks?: true;
  readonly tries: readonly { readonly action: TriedAction; readonly max: number }[];
  readonly last: LastAction;
  /** The hooks of `notify` announce the last action to an operator. */
  readonly notice?: Notice;
}

export type DecisionTable = { readonly [failure in FailureKind]: { readonly [tier in Tier]: Cell } };

/** The most replans of one stage. */
export const REPLANS_MAX = 2;

const RETRY = { action: 'retry', max: 2 } as const;
const REPLAN = { action: 'replan', max: REPLANS_MAX } as const;
const ABORT: Cell = { tries: [], last: 'abort' };
const ESCALATE: Cell = { tries: [], last: 'escalate' };
const STOP = { interactive: ABORT, batch: ABORT, regulated: ESCALATE };

export const DECISION_TABLE: DecisionTable = {
  tool_loop: STOP,
  deadlock: STOP,
  cost_overrun: { ...STOP, batch: { ...ABORT, notice: 'alert' } },
  provider_error: {
    interactive: { tries: [RETRY, { action: 'fallback', max: 1 }], last: 'abort' },
    batch: { tries: [RETRY], last: 'abort' },
    regulated: ESCALATE,
  },
  schema_or_grounding: {
    interactive: { tries: [{ action: 'retry', max: 1 }], last: 'surface' },
    batch: { tries: [REPLAN], last: 'abort' },
    regulated: { ...ESCALATE, blocks: true },
  },
  malformed_plan: {
    interactive: ABORT,
    batch: { tries: [REPLAN], last: 'abort' },
    regulated: { ...ABORT, notice: 'ticket' },
  },
  no_progress: {
    interactive: ABORT,
    batch: { tries: [{ action: 'replan', max: 1 }], last: 'escalate' },
    regulated: ESCALATE,
  },
  unsafe_output: {
    interactive: { blocks: true, tries: [], last: 'fallback' },
    batch: { ...ABORT, blocks: true },
    regulated: { ...ESCALATE, blocks: true },
  },
};

/** The class of a failure kind in the classification of failed steps. */
export const KIND_CLASSES: { readonly [failure in FailureKind]: RecoveryClass } = {
  tool_loop: 'semantic',
  deadlock: 'semantic',
  cost_overrun: 'budget',
  provider_error: 'transient',
  schema_or_grounding: 'semantic',
  malformed_plan: 'semantic',
  no_progress: 'semantic',
  unsafe_output: 'policy',
};

/** The 14 failure modes of MAST, with the kinds of failure and the causes that are recorded under each. */
export const MAST: { readonly [id in MastId]: readonly string[] } = {
  // Specification and system design
  'FM-1.1': ['malformed_plan', 'schema'], // Disobey task specification
  'FM-1.2': ['unsafe_output'], // Disobey role specification
  'FM-1.3': ['tool_loop', 'no_progress'], // Step repetition
  'FM-1.4': ['missing_artifact'], // Loss of conversation history
  'FM-1.5': ['cost_overrun', 'hops'], // Unaware of termination conditions
  // Inter-agent misalignment
  'FM-2.1': ['stale_write'], // Conversation reset
  'FM-2.2': ['stuck_supervisor'], // Fail to ask for clarification
  'FM-2.3': ['confidence'], // Task derailment
  'FM-2.4': ['empty_summary'], // Information withholding
  'FM-2.5': ['deadlock', 'handoff_cycle'], // Ignored other agent's input
  'FM-2.6': ['grounding'], // Reasoning-action mismatch
  // Task verification and termination
  'FM-3.1': ['incomplete'], // Premature termination
  'FM-3.2': ['schema_or_grounding'], // No or incomplete verification
  'FM-3.3': ['overruled'], // Incorrect verification
};

/** The failure mode of a cause, or of the kind of failure. A failure of a provider is not one of an agent, so it has none. */
export function mastOf(failure: FailureKind, cause?: string): MastId | null {
  const of = (name: string) => (Object.keys(MAST) as MastId[]).find((id) => MAST[id].includes(name));
  return (cause === undefined ? undefined : of(cause)) ?? of(failure) ?? null;
}

/** A decision with its failure mode. */
export function decisionOf(failure: FailureKind, action: RecoveryAction, cause?: string): Decision {
  return { failure, action, mast: mastOf(failure, cause) };
}

/** The cause of a suspected deadlock, by the rule of the monitor. */
export const STUCK_CAUSES = { cycle: 'handoff_cycle', repeated_reply: 'stuck_supervisor', hops: 'hops' } as const;

/** A change of a cell that the document declares. */
export interface CellChange {
  readonly retries?: number | undefined;
  readonly replans?: number | undefined;
  readonly last?: LastAction | undefined;
}

/** The cell of a failure in a tier, with the changes of the document. `replans` is the limit of the stage. */
export function cellOf(failure: FailureKind, tier: Tier, change: CellChange = {}, replans?: number): Cell {
  const cell = DECISION_TABLE[failure][tier];
  const maxOf = (action: TriedAction): number => cell.tries.find((each) => each.action === action)?.max ?? 0;
  const tries = [
    ...tried('retry', change.retries ?? maxOf('retry')),
    ...tried('fallback', maxOf('fallback')),
    ...tried('replan', change.replans ?? limited(maxOf('replan'), replans)),
  ];
  return { ...cell, tries, last: change.last ?? cell.last };
}

/** A limit of the stage replaces the default of two replans. A cell with fewer keeps its own. */
function limited(own: number, replans: number | undefined): number {
  if (replans === undefined) return own;
  return own === REPLANS_MAX ? replans : Math.min(own, replans);
}

function tried(action: TriedAction, max: number): Cell['tries'] {
  return max === 0 ? [] : [{ action, max }];
}
