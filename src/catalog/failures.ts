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
  /** The cell in words. */
  readonly does: string;
  /** The action is blocked first. It is recorded as a decision of its own. */
  readonly blocks?: true;
  readonly tries: readonly { readonly action: TriedAction; readonly max: number }[];
  readonly last: LastAction;
  /** The hooks of `notify` tell an operator of the last action. */
  readonly notice?: Notice;
}

export type DecisionTable = { readonly [failure in FailureKind]: { readonly [tier in Tier]: Cell } };

/** The most replans of one stage. */
export const REPLANS_MAX = 2;

const REPLAN = { action: 'replan', max: REPLANS_MAX } as const;

export const DECISION_TABLE: DecisionTable = {
  tool_loop: {
    interactive: { does: 'The loop detector ends the turn; the run aborts.', tries: [], last: 'abort' },
    batch: { does: 'The loop detector ends the turn; the run aborts.', tries: [], last: 'abort' },
    regulated: { does: 'The loop detector ends the turn; a person decides.', tries: [], last: 'escalate' },
  },
  deadlock: {
    interactive: { does: 'The stage is aborted.', tries: [], last: 'abort' },
    batch: { does: 'The monitor aborts the run and undoes its effects.', tries: [], last: 'abort' },
    regulated: { does: 'The monitor asks a person.', tries: [], last: 'escalate' },
  },
  cost_overrun: {
    interactive: { does: 'The run fails at once.', tries: [], last: 'abort' },
    batch: {
      does: 'The call is denied before it is made, the run aborts, and an operator is alerted.',
      tries: [],
      last: 'abort',
      notice: 'alert',
    },
    regulated: { does: 'The call is denied before it is made, and a person decides.', tries: [], last: 'escalate' },
  },
  provider_error: {
    interactive: {
      does: 'Retry with backoff, then another model, then fail.',
      tries: [
        { action: 'retry', max: 2 },
        { action: 'fallback', max: 1 },
      ],
      last: 'abort',
    },
    batch: {
      does: 'Retry within the retry budget and the circuit breaker, then abort.',
      tries: [{ action: 'retry', max: 2 }],
      last: 'abort',
    },
    regulated: {
      does: 'The breaker opens, and a person decides. No other model takes over.',
      tries: [],
      last: 'escalate',
    },
  },
  schema_or_grounding: {
    interactive: {
      does: 'One retry, then the failure goes to the user.',
      tries: [{ action: 'retry', max: 1 }],
      last: 'surface',
    },
    batch: { does: 'At most two replans, then abort.', tries: [REPLAN], last: 'abort' },
    regulated: {
      does: 'The gate blocks the result, and a person fixes it.',
      blocks: true,
      tries: [],
      last: 'escalate',
    },
  },
  malformed_plan: {
    interactive: { does: 'Abort with the error.', tries: [], last: 'abort' },
    batch: {
      does: 'Replan with the objection of the gate or of the critic, at most twice, then abort.',
      tries: [REPLAN],
      last: 'abort',
    },
    regulated: { does: 'Abort, and open a ticket. There is no replan.', tries: [], last: 'abort', notice: 'ticket' },
  },
  no_progress: {
    interactive: { does: 'The run is terminated.', tries: [], last: 'abort' },
    batch: { does: 'Replan once, then a person decides.', tries: [{ action: 'replan', max: 1 }], last: 'escalate' },
    regulated: { does: 'A person decides at once.', tries: [], last: 'escalate' },
  },
  unsafe_output: {
    interactive: {
      does: 'The output is blocked; the safe answer is given instead.',
      blocks: true,
      tries: [],
      last: 'fallback',
    },
    batch: { does: 'The output is blocked, and the run stops.', blocks: true, tries: [], last: 'abort' },
    regulated: { does: 'The output is blocked, and a person decides.', blocks: true, tries: [], last: 'escalate' },
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

/** The failure mode that a kind of failure is recorded under unless its cause is known better. */
export const KIND_MODES: { readonly [failure in FailureKind]: MastId | null } = {
  tool_loop: 'FM-1.3',
  deadlock: 'FM-2.5',
  cost_overrun: 'FM-1.5',
  // A failure of the provider is not a failure of an agent.
  provider_error: null,
  schema_or_grounding: 'FM-3.2',
  malformed_plan: 'FM-1.1',
  no_progress: 'FM-1.3',
  unsafe_output: 'FM-1.2',
};

export interface FailureMode {
  readonly title: string;
  readonly cluster: 'specification' | 'inter-agent' | 'verification';
  /** The failures of this engine that are recorded under it. */
  readonly causes: readonly string[];
}

/** The 14 failure modes of MAST, with the causes that this engine can see. */
export const MAST: { readonly [id in MastId]: FailureMode } = {
  'FM-1.1': mode('specification', 'Disobey task specification', 'malformed_plan', 'schema'),
  'FM-1.2': mode('specification', 'Disobey role specification', 'unsafe_output'),
  'FM-1.3': mode('specification', 'Step repetition', 'tool_loop', 'no_progress'),
  'FM-1.4': mode('specification', 'Loss of conversation history', 'missing_artifact'),
  'FM-1.5': mode('specification', 'Unaware of termination conditions', 'cost_overrun', 'hops'),
  'FM-2.1': mode('inter-agent', 'Conversation reset', 'stale_write'),
  'FM-2.2': mode('inter-agent', 'Fail to ask for clarification', 'stuck_supervisor'),
  'FM-2.3': mode('inter-agent', 'Task derailment', 'confidence'),
  'FM-2.4': mode('inter-agent', 'Information withholding', 'empty_summary'),
  'FM-2.5': mode('inter-agent', "Ignored other agent's input", 'deadlock', 'handoff_cycle'),
  'FM-2.6': mode('inter-agent', 'Reasoning-action mismatch', 'grounding'),
  'FM-3.1': mode('verification', 'Premature termination', 'incomplete'),
  'FM-3.2': mode('verification', 'No or incomplete verification', 'schema_or_grounding'),
  'FM-3.3': mode('verification', 'Incorrect verification', 'overruled'),
};

/** The failure mode of a cause, or of the kind of failure if the cause has none of its own. */
export function mastOf(failure: FailureKind, cause?: string): MastId | null {
  const found = Object.entries(MAST).find(([, { causes }]) => cause !== undefined && causes.includes(cause));
  return found === undefined ? KIND_MODES[failure] : (found[0] as MastId);
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

function mode(cluster: FailureMode['cluster'], title: string, ...causes: readonly string[]): FailureMode {
  return { title, cluster, causes };
}
