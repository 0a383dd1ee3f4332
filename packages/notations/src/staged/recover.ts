/**
 * The recovery of a failed stage: the decision table chooses the action, and these nodes perform it. A person can
 * approve the result of the stage, edit it, send words to the planner, or reject it.
 */
import { FAILED, addRecoveries, addRecovery, dropAnswers, set } from '@sluice-internal/compile/lower';
import type { Recoveries, Ways } from '@sluice-internal/compile/lower';
import { escalationOf } from '@sluice-internal/kernel/catalog';
import type { CellChange, EscalationId } from '@sluice-internal/kernel/catalog';
import { FAILURE_KINDS } from '@sluice-internal/kernel/ir';
import type { Case, Expr, FailureKind, MeterId, NodeId, TerminalCode, Write } from '@sluice-internal/kernel/ir';
import { approvalTimeoutMs, givenApprovers } from '@sluice-internal/compile/document';
import { literal, object, quote } from '@sluice-internal/compile/expressions';
import { entryOf, nameOf, stepOf, type Lowering } from './lowering.ts';
import { causesOf, kindsOf, retriesInside, ESCALATIONS_MAX } from './kinds.ts';
import type { Stage } from './model.ts';
import { rollbackOf, undoneTeam } from './rollback.ts';
import {
  AGGREGATE,
  CRITIQUE,
  FEEDBACK,
  DECISION,
  LAST_PLAN,
  LOST,
  OUTPUT,
  PARTIAL,
  PLAN,
  REJECTED,
  RESULT,
  ROUND,
  SUMMARIES,
  TASKS,
  VERDICT,
} from './slots.ts';
import { grantsOf } from './stage-budget.ts';

export interface Recovering {
  readonly stage: Stage;
  /** The slot of the result that a person approves or edits. */
  readonly result: string;
  /** The node after an accepted result. */
  readonly next: NodeId;
  /** The node after an approved result, if the next stage needs more than the result. */
  readonly approved?: NodeId;
  /** The node that checks an edited result again. */
  readonly again: NodeId;
  /** The first node of the stage. A rejected result may be tried again from an earlier node. */
  readonly begin: NodeId;
  readonly retry?: NodeId;
  /** The stages that another try repeats, the earliest first; this stage unless given. */
  readonly repeats?: readonly string[];
}

export interface Recovery {
  /** Handles the failure in the slot `error`. */
  readonly failed: NodeId;
  /** Handles an input that no further try can change. */
  unfit(): NodeId;
  /** A person decides about a result with too low confidence. */
  doubted(): NodeId;
  /** A person reviews a result that passed every check. */
  review(): NodeId;
}

export function addRecover(l: Lowering, r: Recovering): Recovery {
  const { stage } = r;
  const ways: Ways = {
    retry: addAgain(l, r, 'retry', r.retry ?? r.begin),
    replan: addReplan(l, stage, 'text(error.message)', 'replan'),
    safe: stage.safeFallback === null ? undefined : addSafe(l, r, stage.safeFallback),
    escalate: addEscalation(l, r, 'REVIEW_REQUIRED'),
    surface: abortOf(l),
    abort: abortOf(l),
  };
  const recoveries: Recoveries = {
    stage: nameOf(l, stage.id),
    tier: l.staged.tier,
    replans: l.staged.replans,
    changes: changesOf(stage),
    kinds: kindsOf(l.staged, stage),
    rest: stage.id === 'plan' ? 'malformed_plan' : 'schema_or_grounding',
    blocked: ['tool_loop'],
    visitsMax: l.startsMax,
    questions: questionsOf(l),
    step: (what) => stepOf(l, stage.id, what),
    ways,
  };
  const changed = (failure: FailureKind, change: CellChange, cause: string, given: Ways = ways): NodeId =>
    addRecovery(l.kit, { ...recoveries, failure, cause, ways: given, changes: { [failure]: change } });
  const cases: Case[] = [];
  if (stage.timeoutMs !== null)
    cases.push({
      when: 'error.type == "StageTimeoutError"',
      to: addRecovery(l.kit, { ...recoveries, failure: 'deadlock', cause: 'stage_timeout' }),
    });
  if (stage.id === 'peers')
    cases.push({ when: 'error.type == "HopsError"', to: changed('deadlock', { last: 'escalate' }, 'hops') });
  for (const { type, cause } of causesOf(l.staged, stage))
    cases.push({
      when: `error.type == ${quote(type)}`,
      to: addRecovery(l.kit, { ...recoveries, failure: 'schema_or_grounding', cause }),
    });
  return {
    failed: l.kit.pick(stepOf(l, stage.id, 'failed'), cases, addRecoveries(l.kit, recoveries)),
    review: () =>
      l.kit.set(
        { ...stepOf(l, stage.id, 'review'), charges: [questionsOf(l)] },
        [set(FEEDBACK, 'null')],
        ways.escalate ?? abortOf(l),
      ),
    unfit: () =>
      addRecovery(l.kit, {
        ...recoveries,
        failure: 'schema_or_grounding',
        cause: 'schema',
        ways: { ...ways, retry: undefined, replan: undefined },
      }),
    doubted: () =>
      changed('schema_or_grounding', { retries: 0, replans: 0, last: 'escalate' }, 'confidence', {
        escalate: addEscalation(l, r, 'LOW_CONFIDENCE'),
        abort: abortOf(l),
      }),
  };
}

/** The changes that the document declares. A declared action of the deadlock monitor replaces the table's. */
function changesOf(stage: Stage): NonNullable<Recoveries['changes']> {
  const { protections } = stage;
  const { deadlock, declared } = protections;
  const inside = FAILURE_KINDS.filter((kind) => retriesInside(stage, kind));
  const onFailure: NonNullable<Recoveries['changes']> = {
    ...protections.onFailure,
    ...Object.fromEntries(inside.map((kind) => [kind, { ...protections.onFailure[kind], retries: 0 }])),
  };
  if (deadlock === null || !declared.has('deadlock') || onFailure.deadlock !== undefined) return onFailure;
  return { ...onFailure, deadlock: { last: deadlock.onTrip === 'escalate' ? 'escalate' : 'abort' } };
}

/** The stage runs again, and its agent reads the objection. */
function addAgain(l: Lowering, { stage, repeats = [stage.id] }: Recovering, what: string, to: NodeId): NodeId {
  const { undoes, writes } = rollbackOf(l, repeats);
  return l.kit.set(
    { ...stepOf(l, stage.id, what), undoes },
    [
      set(FEEDBACK, 'text(error.message)'),
      set('error', 'null'),
      // Tasks that were lost are worked on again.
      ...(repeats.includes(l.staged.working.id) ? [set(PARTIAL, 'false')] : []),
      ...writes,
    ],
    to,
  );
}

/**
 * Goes back to the plan. The effects of the last round are undone and its results dropped, so that no person approves them by
 * mistake.
 */
function addReplan(l: Lowering, { id }: Stage, feedback: Expr, what: string): NodeId {
  const { undoes, writes } = rollbackOf(l, 'all');
  return l.kit.set(
    { ...stepOf(l, id, what), undoes },
    [
      ...writes,
      set(FEEDBACK, feedback),
      set(LAST_PLAN, PLAN),
      set(ROUND, `${ROUND} + 1`),
      set('error', 'null'),
      set(PARTIAL, 'false'),
      ...[SUMMARIES, RESULT, AGGREGATE, OUTPUT].map((slot) => set(slot, 'null')),
      ...dropAnswers(l.builder.definitions),
    ],
    entryOf(l, 'plan'),
  );
}

/** The safe text takes the place of the result, in the form that the next stage reads. */
function addSafe(l: Lowering, { stage, result, next }: Recovering, text: string): NodeId {
  const task: Expr = `{"id": "task", "brief": ${quote(text)}}`;
  const forms: { readonly [result: string]: readonly Write[] } = {
    [PLAN]: [set(PLAN, `{"tasks": [${task}]}`), set(TASKS, `[${task}]`)],
    [SUMMARIES]: [set(SUMMARIES, `[{"id": ${quote(stage.id)}, "summary": ${quote(text)}}]`)],
  };
  return l.kit.set(
    stepOf(l, stage.id, 'safe'),
    [...(forms[result] ?? [set(result, quote(text))]), set(PARTIAL, 'true'), set('error', 'null')],
    next,
  );
}

const CODES: { readonly [failure in FailureKind]: TerminalCode } = {
  tool_loop: 'REPEATED_FAILURE',
  deadlock: 'REPEATED_FAILURE',
  cost_overrun: 'BUDGET_EXHAUSTED',
  provider_error: 'UNAVAILABLE_DEP',
  schema_or_grounding: 'VALIDATION_FAIL',
  malformed_plan: 'VALIDATION_FAIL',
  no_progress: 'REPEATED_FAILURE',
  unsafe_output: 'UNSAFE_DETECTION',
};

/** The row of the escalation table by failure. It names the people who should answer. */
const ROWS = Object.fromEntries(
  Object.entries({
    tool_loop: 'tool_failure',
    deadlock: 'low_confidence',
    cost_overrun: 'budget_reached',
    provider_error: 'provider_outage',
    schema_or_grounding: 'low_confidence',
    malformed_plan: 'low_confidence',
    no_progress: 'low_confidence',
    unsafe_output: 'security_breach',
  } satisfies { readonly [failure in FailureKind]: EscalationId }).map(([failure, row]) => [
    failure,
    { ...escalationOf(row) },
  ]),
);

/** The controlled abort: completed effects are undone, and the run ends under the code of the failure. */
function abortOf(l: Lowering): NodeId {
  const id = l.builder.idOf(`~${nameOf(l, 'abort')}`);
  if (l.builder.has(id)) return id;
  const own = 'error.class in ["policy", "refused"]';
  const code = `error.type == "StageTimeoutError" ? "TIMEOUT" : error.type == "ReviewError" ? "REVIEW_REQUIRED" : ${own} ? error.code : ${literal(CODES)}[${FAILED}.failure]`;
  const error = object([
    ['class', 'error.class'],
    ['type', 'error.type'],
    ['message', 'error.message'],
    ['node', 'error.node'],
    ['code', code],
  ]);
  const refused = `${OUTPUT} != null ? ${OUTPUT} : ${AGGREGATE}`;
  const rejected = `(${refused}) == null ? null : {"text": text(${refused}), "reasons": [error.message]}`;
  return l.kit.set(
    { id, origin: nameOf(l, 'abort') },
    [set(REJECTED, rejected), set('error', error), ...undoneTeam(l)],
    l.builder.failedEnd(),
  );
}

/**
 * The question to a person. `approve` takes the result as it is. Without a result, and after a budget was used up, the stage
 * runs once more.
 */
function addEscalation(l: Lowering, r: Recovering, code: 'REVIEW_REQUIRED' | 'LOW_CONFIDENCE'): NodeId {
  const { stage, result, next, approved = next } = r;
  const what = code === 'LOW_CONFIDENCE' ? 'doubt' : 'escalation';
  const step = (part: string) => stepOf(l, stage.id, `${what}.${part}`);
  const clear = set('error', 'null');
  // A person may accept a result that lacks tasks. It is partial all the same.
  const lost = stage.id === l.staged.working.id ? [set(PARTIAL, `${PARTIAL} == true || size(${LOST}) > 0`)] : [];
  const taken = l.kit.set(step('approved'), [clear, ...lost], approved);
  const { undoes, writes } = rollbackOf(l, [stage.id]);
  const once = l.kit.set({ ...step('again'), undoes }, [set(FEEDBACK, 'null'), clear, ...writes], r.begin);
  const agreed = l.kit.when(
    step('approve'),
    `${result} != null && ${result} != [] && ${FAILED}.failure != "cost_overrun"`,
    taken,
    once,
  );
  // A person decided about the plan, so the critic's verdict on the old one does not count.
  const judged = stage.id === 'plan' && l.staged.plan.critic !== null ? [set(CRITIQUE, 'null')] : [];
  const edited = l.kit.set(step('edited'), [set(result, `${DECISION}.edit`), ...judged, clear], r.again);
  const replanned = addReplan(l, stage, `text(${DECISION}.text)`, `${what}.respond`);
  const ways = { approve: agreed, edit: edited, respond: replanned };
  return l.kit.ask(
    { hint: step('ask').hint, origin: nameOf(l, 'escalation') },
    {
      about: 'escalation',
      askedBy: stage.agent ?? nameOf(l, stage.id),
      choices: ['approve', { name: 'edit', edit: true, needs: 'edit' }, { name: 'respond', needs: 'text' }, 'reject'],
      onExpiry: 'reject',
      code,
      purpose: 'escalation',
      ...givenApprovers(stage.approvers, l.staged.definitions.people),
      message: `text(${quote(`Stage \`${nameOf(l, stage.id)}\`: `)}, error.message)`,
      payload: {
        escalation: `${literal(ROWS)}[${FAILED}.failure]`,
        stage: quote(stage.id),
        rule: quote(`stage ${nameOf(l, stage.id)}`),
        failure: `${FAILED}.failure`,
        problem: 'error.message',
        ...(stage.id === 'validate' ? { verdict: VERDICT } : {}),
        result,
        plan: PLAN,
        observations: 'observations',
      },
      grant: grantsOf(l, stage),
      into: DECISION,
      timeoutMs: approvalTimeoutMs(l.staged.definitions.boundary),
      next: l.kit.decide(step('decided'), DECISION, ways, abortOf(l)),
      fail: abortOf(l),
    },
  );
}

/** Counts the questions. It is charged before a question, so a decision to ask is recorded only if a question is left. */
function questionsOf(l: Lowering): MeterId {
  return l.kit.visits(`escalations:${l.prefix}`, ESCALATIONS_MAX, abortOf(l), 'escalations');
}
