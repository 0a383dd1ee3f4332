/** Phases 12 to 14: find the problem of the round, decide whether the agent repairs it, and whether the loop goes on. */
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import type { Amounts, Case, Expr, NodeId, Write } from '@sluice-internal/kernel/ir';
import { OBJECTION, TALK, VERDICT, addVerifier, append, set } from '@sluice-internal/compile/lower';
import type { Verifier } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { addOutputCheck, chosen, contested, findings, isLast, offered, outputDue } from './findings.ts';
import type { Finding } from './findings.ts';
import { idOf, part, phase, type Lowering } from './nodes.ts';
import {
  ANSWER,
  CROSSED,
  FINISHED,
  GOAL,
  JUDGED_AGAIN,
  KIND,
  MARKS,
  ONE_MORE_REPAIR,
  PROBLEM,
  REPAIRS,
  RESULTS,
  RETURNED,
  REVIEWED,
  SINCE,
  STATUS,
  STEP,
  TRIGGER,
  TURN,
  USER_ANSWERS,
  VIOLATION,
  VIOLATIONS,
} from './state.ts';
import { DROP_TALK } from './prompts.ts';

export function addJudgement(l: Lowering): void {
  addTermination(l);
  const ways = reflectionsOf(l);
  const reflect = l.kit.pick(phase(l, 'reflection_trigger'), ways.answer, ways.triggered);
  const formed = l.kit.pick(part('reflection_trigger', 'reflection.form'), ways.form, reflect);
  const late = addContested(l, 'contested', formed);
  const { verifier } = l.loop;
  // Problems for a person come last, so that the person sees an answer that is valid in all other ways.
  const staged = verifier !== null || outputDue(l.loop) !== 'false';
  const verified =
    verifier === null
      ? late
      : addVerdict(l, verifier, { judged: addContested(l, 'judged.contested', reflect), unjudged: late });
  const rules = [...findings(l.loop), ...(staged ? [] : contested(l.loop))];
  const choose = (of: (finding: Finding) => Expr): Expr => chosen(rules, of, 'null');
  const writes = [
    set(
      KIND,
      choose(({ kind }) => quote(kind)),
    ),
    set(
      PROBLEM,
      choose(({ words }) => words),
    ),
    set(VERDICT, 'null'),
  ];
  const next = staged ? addOutputCheck(l, offered(), verified) : formed;
  l.kit.set(phase(l, 'validation_check'), writes, next);
}

/** Problems that a person may decide about come last. */
function addContested(l: Lowering, hint: string, next: NodeId): NodeId {
  const rules = contested(l.loop);
  return l.kit.set(
    part('validation_check', hint),
    [
      set(KIND, `${KIND} != null ? ${KIND} : ${chosen(rules, ({ kind }) => quote(kind), 'null')}`),
      set(PROBLEM, `${PROBLEM} != null ? ${PROBLEM} : ${chosen(rules, ({ words }) => words, 'null')}`),
    ],
    next,
  );
}

/** The verifier judges the answer that ends the run, if nothing else is wrong with it. */
function addVerdict(
  l: Lowering,
  verifier: Verifier,
  { judged: next, unjudged }: { readonly judged: NodeId; readonly unjudged: NodeId },
): NodeId {
  const { loop } = l;
  const least = verifier.confidence;
  const unsure =
    least === null
      ? 'false'
      : `${VERDICT}.ok == true && (${VERDICT}.confidence == null || ${VERDICT}.confidence < ${least})`;
  const kind = `${VERDICT}.conflict != null ? "conflict" : ${VERDICT}.ok == false ? "verdict" : ${unsure} ? "confidence" : null`;
  const unsureWords = `${VERDICT}.confidence == null ? text("the verifier gave no confidence from 0 to 1, and ", ${least}, " is needed") : text("the confidence of the verifier is ", ${VERDICT}.confidence, ", and ${least} is needed")`;
  const judged = l.kit.set(
    part('validation_check', 'verifier.judged'),
    [
      set(KIND, kind),
      set(
        PROBLEM,
        `${VERDICT}.conflict != null ? ${VERDICT}.conflict : ${VERDICT}.ok == false ? ${OBJECTION} : ${least === null ? 'null' : `${unsure} ? (${unsureWords}) : null`}`,
      ),
    ],
    next,
  );
  const id = addVerifier(l.kit, verifier, {
    hint: 'answer',
    origin: 'validation_check',
    authored: loop.id,
    agent: loop.executor,
    goal: GOAL,
    people: `${USER_ANSWERS}.map(a, a.text)`,
    answer: ANSWER,
    criteria: loop.criteria,
    doubt: VIOLATION,
    next: judged,
  });
  const due = `${KIND} == null && ${offered()} && ${isLast(loop)}`;
  // A sound answer that ends the run is always judged.
  const other = l.kit.set(
    { ...part('validation_check', 'verifier.unjudged'), unjudged: true },
    [set(VERDICT, 'null')],
    unjudged,
  );
  return l.kit.when(part('validation_check', 'verifier.look'), due, id, other);
}

interface Ways {
  readonly triggered: NodeId;
  /** A failed call, a reply without the right form, a value without a source: no verdict came before. */
  readonly form: readonly Case[];
  readonly answer: readonly Case[];
}

/** Reflection needs a problem, and `budgets.reflections` limits it. */
function reflectionsOf(l: Lowering): Ways {
  const { onViolation } = l.loop.grounding;
  const on = idOf(l, 'termination_check');
  const triggered = l.kit.set(part('reflection_trigger', 'triggered'), [set(TRIGGER, KIND)], on);
  const passed = l.kit.set(part('reflection_trigger', 'sound'), [set(KIND, 'null'), set(PROBLEM, 'null')], on);
  const again = l.kit.set(part('reflection_trigger', 'repair.tool'), [set(REPAIRS, ONE_MORE_REPAIR)], on);
  const room = `${REPAIRS} < ${REPAIRS_MAX}`;
  const sentBack = ['criteria', 'verdict', 'confidence', ...(onViolation === 'repair' ? ['grounding'] : [])];
  const values = (): Case => ({
    when: `${KIND} == "values"`,
    to: addPaid(l, 'values', { reflections: 1 }, [set(RETURNED, 'true')], addUnreturned(l, triggered)),
  });
  const form = [
    { when: `${KIND} == "tool" && ${room}`, to: again },
    {
      when: `${KIND} == "form" && ${room}`,
      to: addPaid(l, 'retry', { retries: 1 }, [set(REPAIRS, ONE_MORE_REPAIR)], triggered),
    },
    ...(onViolation === 'mark' ? [values()] : []),
  ];
  const answer = [
    { when: `${TRIGGER} != null`, to: on },
    {
      when: `${KIND} in ${literal(sentBack)}`,
      to: addPaid(l, 'reflection', { reflections: 1 }, [set(JUDGED_AGAIN, 'true')], triggered),
    },
    {
      when: `${KIND} == "conflict" && !${CROSSED}`,
      to: addPaid(l, 'conflict', { reflections: 1 }, [set(CROSSED, 'true')], addUncrossed(l, triggered)),
    },
    { when: `${KIND} == null || ${KIND} == "none"`, to: passed },
  ];
  return { triggered, form, answer };
}

/** Repairs in a row of failed calls and of replies without the right form. */
export const REPAIRS_MAX = 2;

/** Sends the answer back with the problem. Without room in the budget there is no repair. */
function addPaid(l: Lowering, what: string, reserve: Amounts, writes: readonly Write[], none: NodeId): NodeId {
  const correction = append(TALK, {
    role: quote('user'),
    content: `text("This is not acceptable: ", ${PROBLEM}, ". Correct it.")`,
  });
  const mend = l.kit.set(
    part('reflection_trigger', `repair.${what}`),
    [...writes, set(STATUS, '"repair"'), set(KIND, 'null'), correction],
    idOf(l, 'termination_check'),
  );
  return l.kit.call(
    { hint: `repair.${what}.paid`, origin: 'reflection_trigger', onBudget: none },
    {
      effect: { kind: 'check', check: RETRY_CHECK, input: { name: quote(l.loop.executor) }, reserve },
      // The retry budget is for requests that failed.
      shared: { retryBudget: null },
      next: mend,
      fail: none,
    },
  );
}

/** If the values cannot go back, the verifier is told of them at once. */
function addUnreturned(l: Lowering, triggered: NodeId): NodeId {
  const meter = l.kit.visits('values.kept', 1, triggered, 'budgets.reflections');
  return l.kit.set(
    { hint: 'values.kept', origin: 'reflection_trigger', charges: [meter] },
    [set(RETURNED, 'true')],
    idOf(l, 'validation_check'),
  );
}

/** If no cross-check is possible, the answer is validated before a person sees it. */
function addUncrossed(l: Lowering, triggered: NodeId): NodeId {
  const meter = l.kit.visits('conflict.uncrossed', 1, triggered, 'budgets.reflections');
  return l.kit.set(
    { hint: 'conflict.uncrossed', origin: 'reflection_trigger', charges: [meter] },
    [set(CROSSED, 'true')],
    idOf(l, 'validation_check'),
  );
}

function addTermination(l: Lowering): void {
  const round = idOf(l, 'tool_eligibility');
  const escalate = idOf(l, 'escalation_check');
  l.kit.pick(
    phase(l, 'termination_check'),
    [
      { when: `${TRIGGER} != null`, to: escalate },
      { when: `${STATUS} in ["acting", "repair"]`, to: round },
      ...stepCases(l),
    ],
    escalate,
  );
}

/** The node after an approved answer: the end, or the next step of the plan. */
export function addOnward(l: Lowering): NodeId {
  const final = idOf(l, 'final_response');
  const cases = stepCases(l);
  return cases.length === 0 ? final : l.kit.pick(part('escalation_check', 'onward'), cases, final);
}

/** A step is done and is not the last one. */
function stepCases(l: Lowering): readonly Case[] {
  if (l.loop.planner === null) return [];
  const next = l.kit.set(
    part('termination_check', 'step.done'),
    [
      append(FINISHED, `${STEP}.id`),
      append(RESULTS, { id: `${STEP}.id`, do: `${STEP}.do`, answer: ANSWER }),
      set(VIOLATIONS, `${VIOLATIONS} + ${MARKS}`),
      set(MARKS, '[]'),
      set(SINCE, `${TURN} + 1`),
      set(ANSWER, 'null'),
      // Notes of a step end with it.
      ...DROP_TALK,
      set(REPAIRS, '0'),
      set(REVIEWED, 'null'),
      set(RETURNED, 'false'),
    ],
    idOf(l, 'tool_eligibility'),
  );
  return [{ when: `${STATUS} == "complete" && !${isLast(l.loop)}`, to: next }];
}
