/**
 * Lowers the failure decision table. A notation gives the failure, the stage, and a node for each action. The nodes here
 * count the tries, record each decision, and choose the next action. Every decision is an event of the run.
 *
 * @example
 * const failed = addRecoveries(kit, { stage: 'plan', tier, replans: 2, step, ways: { replan, escalate, abort } });
 * kit.call(step, { …, fail: failed });
 */
import { KIND_CLASSES, cellOf, decisionOf, mastOf } from '@sluice-internal/kernel/catalog';
import type { Cell, CellChange, TriedAction } from '@sluice-internal/kernel/catalog';
import { FAILURE_KINDS } from '@sluice-internal/kernel/ir';
import type {
  Decision,
  Expr,
  FailureKind,
  MeterId,
  NodeId,
  Notice,
  RecoveryAction,
  Tier,
  Write,
} from '@sluice-internal/kernel/ir';
import { literal, path } from '@sluice-internal/kernel/expr';
import { set, setField, type Kit, type Step } from './kit.ts';

/** Counts the tries of each stage. A notation writes `recoveryStart` before the first stage. */
const COUNTS = '_recovered';
/** The failure that is being handled: `{ stage, failure, class, mast, action }`. Questions and reports read it. */
export const FAILED = '_failed';

export const recoveryStart: Write = set(COUNTS, '{}');

/** The node for each action. An action without a node is skipped; the last action is then `abort`. */
export interface Ways {
  /** Repeats the stage. */
  readonly retry?: NodeId | undefined;
  /** Goes back to the plan. The slot `error` has the objection. */
  readonly replan?: NodeId | undefined;
  /** Repeats the stage with another model. */
  readonly fallback?: NodeId | undefined;
  /** Gives the safe answer of the document. */
  readonly safe?: NodeId | undefined;
  readonly escalate?: NodeId | undefined;
  readonly surface?: NodeId | undefined;
  readonly abort: NodeId;
}

export interface Recoveries {
  /** The stage that failed. Tries are counted by this name. */
  readonly stage: string;
  readonly tier: Tier;
  /** The most replans of this stage, for all failures together. */
  readonly replans: number;
  /** Changes of the table that the document declares. */
  readonly changes?: { readonly [failure in FailureKind]?: CellChange };
  /** The kinds of failure that the stage can have; all of them unless given. */
  readonly kinds?: readonly FailureKind[];
  /** The kind of a failure that no condition takes; `schema_or_grounding` unless given. */
  readonly rest?: FailureKind;
  /** Kinds whose block was recorded when it happened. */
  readonly blocked?: readonly FailureKind[];
  /**
   * The number of times that the stage can be entered, by branches of a fork and by replans. It limits the tries of the run.
   */
  readonly visitsMax?: number;
  /** Counts the questions to people. If none is left, the decision is `abort`. */
  readonly questions?: MeterId;
  readonly step: (what: string) => Step;
  readonly ways: Ways;
}

/** Handles the failure in the slot `error`, by its kind. */
export function addRecoveries(kit: Kit, recoveries: Recoveries): NodeId {
  const { kinds = FAILURE_KINDS, rest = 'schema_or_grounding' } = recoveries;
  const cases = kinds.flatMap((failure) => {
    const when = failure === rest ? null : WHEN[failure];
    return when === null ? [] : [{ when, to: addRecovery(kit, { ...recoveries, failure }) }];
  });
  return kit.pick(recoveries.step('classify'), cases, addRecovery(kit, { ...recoveries, failure: rest }));
}

/** The kind of a failure, as conditions over `error`. The first that holds applies; `schema_or_grounding` is the rest. */
const WHEN: { readonly [failure in FailureKind]: Expr | null } = {
  tool_loop: 'error.type in ["LoopError", "RoundsError"]',
  deadlock: 'error.type in ["DeadlockError", "HopsError", "DepthError"]',
  cost_overrun: 'error.class == "budget" || error.code == "BUDGET_EXHAUSTED"',
  provider_error: 'error.class in ["transient", "rate_limit", "timeout", "fatal"]',
  malformed_plan: 'error.type in ["PlanError", "SpawnError"]',
  no_progress: 'error.type == "NoProgressError"',
  unsafe_output: 'error.class in ["guardrail", "policy", "refused"]',
  schema_or_grounding: null,
};

export interface Recovery extends Recoveries {
  readonly failure: FailureKind;
  /** The cause of the failure: one of the MAST table. */
  readonly cause?: string;
}

/** Handles one kind of failure of a stage, by the row of the table for its tier. */
export function addRecovery(kit: Kit, recovery: Recovery): NodeId {
  const { failure, tier, replans, changes = {} } = recovery;
  const cell = cellOf(failure, tier, changes[failure], replans);
  let next = addLast(kit, recovery, cell);
  for (const { action, max } of [...cell.tries].reverse()) {
    const way = recovery.ways[action];
    if (way !== undefined) next = addTry(kit, recovery, { action, max, way, otherwise: next });
  }
  if (cell.blocks !== true || recovery.blocked?.includes(failure) === true) return next;
  return kit.set(named(recovery, 'block'), [failed(recovery, 'block')], next);
}

interface Try {
  readonly action: TriedAction;
  readonly max: number;
  readonly way: NodeId;
  readonly otherwise: NodeId;
}

function addTry(kit: Kit, recovery: Recovery, { action, max, way, otherwise }: Try): NodeId {
  const { stage, failure, replans, visitsMax = 1, step } = recovery;
  const own = path(COUNTS, stage, `${action}_${failure}`);
  const all = path(COUNTS, stage, 'replans');
  const limits = [below(own, max), ...(action === 'replan' ? [below(all, replans)] : [])];
  const label = `${action} after ${failure} in ${stage}`;
  const tried = kit.set(
    {
      ...named(recovery, action),
      charges: [kit.visits(`${action}:${stage}:${failure}`, max * visitsMax, otherwise, label)],
    },
    [
      failed(recovery, action),
      setField(COUNTS, [stage, `${action}_${failure}`], oneMore(own)),
      ...(action === 'replan' ? [setField(COUNTS, [stage, 'replans'], oneMore(all))] : []),
    ],
    way,
  );
  return kit.when(step(`${failure}.${action}?`), limits.join(' && '), tried, otherwise);
}

function addLast(kit: Kit, recovery: Recovery, { last, notice }: Cell): NodeId {
  const { ways } = recovery;
  const way = last === 'fallback' ? ways.safe : ways[last];
  if (way === undefined || last === 'abort') return addAbort(kit, recovery, notice);
  const limit =
    last === 'escalate' && recovery.questions !== undefined
      ? { charges: [recovery.questions], onVisits: addAbort(kit, recovery, notice) }
      : {};
  return kit.set({ ...named(recovery, last, notice), ...limit }, [failed(recovery, last)], way);
}

function addAbort(kit: Kit, recovery: Recovery, notice: Notice | undefined): NodeId {
  return kit.set(named(recovery, 'abort', notice), [failed(recovery, 'abort')], recovery.ways.abort);
}

/** The node that records a decision. */
function named({ step, failure, cause }: Recovery, action: RecoveryAction, notice?: Notice): Step {
  const { decision, ...rest } = decided(step(`${failure}.${action}`), failure, action, cause);
  return { ...rest, decision: notice === undefined ? decision : { ...decision, notice } };
}

/** The step as one that records a decision. */
export function decided(
  step: Step,
  failure: FailureKind,
  action: RecoveryAction,
  cause?: string,
): Step & { readonly decision: Decision } {
  return { ...step, decision: decisionOf(failure, action, cause) };
}

function failed({ stage, failure, cause }: Recovery, action: RecoveryAction): Write {
  const mast = mastOf(failure, cause);
  return set(FAILED, literal({ stage, failure, class: KIND_CLASSES[failure], mast, action }));
}

function below(count: Expr, max: number): Expr {
  return `(${count} == null || ${count} < ${max})`;
}

function oneMore(count: Expr): Expr {
  return `${count} == null ? 1 : ${count} + 1`;
}
