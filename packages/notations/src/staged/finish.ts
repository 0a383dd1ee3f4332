/** The stages after the work: aggregate, validate and finalize. */
import { VERDICT_CHECK } from '@sluice-internal/kernel/ir';
import type { NodeId, Write, Expr } from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { object, quote } from '@sluice-internal/compile/expressions';
import { append, controlsOfNode, receiptsIn, set, OBSERVATIONS } from '@sluice-internal/compile/lower';
import { addInvariants, addObjection, type Gate, type Names, addVerdict } from './gates.ts';
import { SAME_ROUNDS_MAX, watchesRounds } from './kinds.ts';
import { entryOf, nameOf, stepOf, type Lowering } from './lowering.ts';
import { hasJudge } from './model.ts';
import type { Stage, Staged, Invariants } from './model.ts';
import { aggregatePrompt, finalizePrompt, validatePrompt } from './prompts.ts';
import type { Recovery } from './recover.ts';
import {
  AGGREGATE,
  FEEDBACK,
  OUTPUT,
  PARTIAL,
  PEER,
  PLAN,
  RESULT,
  ROUNDS,
  SUMMARIES,
  TASKS,
  VERDICT,
  CHECKED,
  REQUEST,
} from './slots.ts';
import { addStage, addStageTurn, type StageParts } from './stage.ts';
import { stageMeters } from './stage-budget.ts';

export function addFinish(l: Lowering): void {
  const { aggregate } = l.staged;
  const gate = l.builder.fresh(`${nameOf(l, aggregate.id)}.after`);
  addStage(l, {
    stage: aggregate,
    after: gate,
    value: SUMMARIES,
    result: AGGREGATE,
    opening: [...summaryOf(l.staged), ...(aggregate.agent === null ? [set(AGGREGATE, resultOf(l.staged))] : [])],
    ...performed(l, 'aggregate', AGGREGATE, aggregatePrompt(l.staged)),
    next: entryOf(l, 'validate'),
  });
  addValidate(l, gate);
  addFinalize(l);
}

/** Without a judge, the one result of the work is the only summary, also after a person edited it. */
function summaryOf({ work }: Staged): readonly Write[] {
  if (work.is !== 'peers' && work.is !== 'board') return [];
  return [set(SUMMARIES, `[{"id": ${work.is === 'peers' ? PEER : quote('board')}, "summary": ${RESULT}}]`)];
}

/** The slot of the result: some work has one, other work has one summary per task. */
function resultOf({ work }: Staged): string {
  return work.is === 'peers' || work.is === 'board' || hasJudge(work) ? RESULT : SUMMARIES;
}

/** The agent of the stage performs it, if it has one. */
function performed(
  l: Lowering,
  place: 'aggregate' | 'validate' | 'finalize',
  result: string,
  prompt: string,
): Pick<StageParts, 'body'> {
  const stage: Stage = l.staged[place];
  const { agent, output } = stage;
  if (agent === null) return {};
  const schema = place === 'validate' ? VERDICT_SCHEMA : output;
  return {
    body: (done, fail) =>
      addStageTurn(l, {
        stage,
        agent,
        hint: nameOf(l, `${stage.id}.agent`),
        prompt,
        schema,
        result,
        turn: quote(stage.id),
        runs: { of: stage.id, max: l.visits[place] * l.startsMax, label: `runs of ${stage.id}` },
        next: done,
        fail,
      }),
  };
}

/** The names that rules over a result can read. */
function namesOf(l: Lowering, output: string): Names {
  return {
    output,
    aggregate: AGGREGATE,
    plan: PLAN,
    summaries: SUMMARIES,
    partial: PARTIAL,
    receipts: receiptsIn(l.staged.definitions.tools),
  };
}

const VERDICT_SCHEMA: Json = {
  type: 'object',
  properties: { ok: { type: 'boolean' }, confidence: { type: 'number' }, problem: { type: ['string', 'null'] } },
  required: ['ok'],
};

/**
 * Invariants first, because they cost nothing; then the critic. A person edits or approves the aggregate. An edited aggregate
 * passes the gate of its own stage first.
 */
function addValidate(l: Lowering, edited: NodeId): void {
  const { validate, aggregate } = l.staged;
  const { agent } = validate;
  const repeated = aggregate.agent === null ? l.staged.working.id : 'aggregate';
  addStage(l, {
    stage: validate,
    value: AGGREGATE,
    result: VERDICT,
    judged: AGGREGATE,
    edited,
    retry: entryOf(l, repeated),
    repeats: [repeated, 'validate'],
    opening: [set(VERDICT, '{"ok": true}')],
    invariants: (gate, next) => addAllInvariants(l, gate, next),
    ...performed(l, 'validate', VERDICT, validatePrompt(l.staged)),
    checks: (gate, recovery, next) => {
      const reviewed = validate.review ? addReview(gate, recovery) : next;
      return agent === null ? reviewed : addCriticVerdict(l, gate, recovery, reviewed);
    },
    next: l.kit.set(stepOf(l, 'validate', 'accepted'), [set(FEEDBACK, 'null')], entryOf(l, 'finalize')),
  });
}

/** Expressions first, because they cost nothing; then citations; then functions. */
function addAllInvariants(l: Lowering, gate: Gate, next: NodeId): NodeId {
  const { rules, cites, tools } = l.staged.validate.invariants;
  if (rules.length + cites.length + tools.length === 0) return next;
  const { agent } = l.staged.aggregate;
  const { kept, broken } = agent === null ? { kept: next, broken: gate.refused } : addVerdicts(gate, agent, next);
  const judged: Gate = { ...gate, refused: broken };
  const called = tools.reduceRight((after, each, index) => addFunction(judged, each, index, after), kept);
  const cited = cites.reduceRight((after, each, index) => addCites(judged, each, index, after), called);
  return addInvariants(judged, rules, namesOf(l, VERDICT), cited);
}

const UNTRUE = { check: 'invariant', type: 'InvariantError' } as const;
const UNGROUNDED = { check: 'invariant', type: 'GroundingError' } as const;

/** Reports to the breaker of the agent whether its result kept the invariants. The run then continues as without a breaker. */
function addVerdicts(
  { l, stage, refused }: Gate,
  agent: string,
  next: NodeId,
): { readonly kept: NodeId; readonly broken: NodeId } {
  if (l.staged.definitions.protections.breaker === null) return { kept: next, broken: refused };
  const recorded = (what: string, ok: boolean, to: NodeId): NodeId =>
    l.kit.check(stepOf(l, stage, `invariants.${what}`), {
      check: VERDICT_CHECK,
      input: { agent: quote(agent), ok: String(ok) },
      into: CHECKED,
      next: to,
      fail: to,
    });
  return { kept: recorded('kept', true, next), broken: recorded('broken', false, refused) };
}

/** Calls a tool. The result holds if it returns true, or an object with `ok: true`. */
function addFunction(gate: Gate, { tool, reason }: Invariants['tools'][number], index: number, next: NodeId): NodeId {
  const { l, stage } = gate;
  const hint = `function.${index + 1}`;
  const step = (what: string) => stepOf(l, stage, `${hint}.${what}`);
  const own: Expr = `type(${CHECKED}) == map && type(${CHECKED}.reason) == string && ${CHECKED}.reason != ""`;
  const given = reason === null ? quote(`\`${tool}\` does not accept the result`) : quote(reason);
  const refused = addObjection(gate, `${hint}.refused`, {
    ...UNTRUE,
    reason: `${own} ? ${CHECKED}.reason : ${given}`,
  });
  const broken = addObjection(gate, `${hint}.broken`, {
    ...UNTRUE,
    reason: `text(${quote(`\`${tool}\` cannot judge the result: `)}, error.message)`,
  });
  const holds = `${CHECKED} == true || (type(${CHECKED}) == map && ${CHECKED}.ok == true)`;
  const { validate } = l.staged;
  const limits = [l.builder.toolDef(tool)?.timeoutMs ?? null, validate.timeoutMs].filter((limit) => limit !== null);
  const args = { aggregate: AGGREGATE, plan: PLAN, summaries: SUMMARIES, input: REQUEST };
  const askedBy = nameOf(l, validate.id);
  return l.kit.call(
    { ...step('call'), charges: stageMeters(l, validate) },
    {
      effect: l.builder.tool(tool, args),
      ...present({ controls: controlsOfNode(l.kit, { tool, args: object(Object.entries(args)), askedBy }) }),
      into: CHECKED,
      timeoutMs: limits.length === 0 ? null : Math.min(...limits),
      next: l.kit.when(step('judged'), holds, next, refused),
      fail: broken,
    },
  );
}

/** The result cites at least so many documents that tools of the run read. */
function addCites(gate: Gate, { least, reason }: Invariants['cites'][number], index: number, next: NodeId): NodeId {
  return addVerdict(
    gate,
    `cites.${index + 1}`,
    {
      check: 'policy:cites',
      input: { answer: AGGREGATE, observations: OBSERVATIONS, least: String(least) },
      objection: { ...UNGROUNDED, reason: reason === null ? `${CHECKED}.reason` : quote(reason) },
    },
    next,
  );
}

/** The critic's "no" is a failure of the aggregate. A "yes" with too low confidence goes to a person. */
function addCriticVerdict(l: Lowering, gate: Gate, recovery: Recovery, next: NodeId): NodeId {
  const { confidence } = l.staged.validate;
  const refused = addObjection(gate, 'rejected', {
    check: 'verdict',
    type: 'RejectedError',
    reason: `${VERDICT}.problem == null || ${VERDICT}.problem == "" ? "the validator did not accept the result" : text(${VERDICT}.problem)`,
  });
  const sure = `type(${VERDICT}.confidence) == double || type(${VERDICT}.confidence) == int`;
  const doubt =
    confidence === null
      ? []
      : [
          {
            when: `!((${sure}) && ${VERDICT}.confidence <= 1.0 && ${VERDICT}.confidence >= ${decimal(confidence)})`,
            to: addObjection(
              gate,
              'doubted',
              {
                check: 'confidence',
                type: 'LowConfidenceError',
                reason: `${VERDICT}.confidence == null ? "the validator gave no confidence, and ${confidence} is needed" : text("the confidence is ", ${VERDICT}.confidence, ${VERDICT}.confidence > 1.0 ? ", and no number above 1 counts" : ", and ${confidence} is needed")`,
              },
              recovery.doubted(),
            ),
          },
        ];
  const no = watchesRounds(l.staged) ? addSameRound(l, gate, refused) : refused;
  return l.kit.pick(stepOf(l, 'validate', 'verdict'), [{ when: `${VERDICT}.ok != true`, to: no }, ...doubt], next);
}

/** A round that repeats two earlier ones, with the same tasks and the same result, is no progress. */
function addSameRound(l: Lowering, gate: Gate, refused: NodeId): NodeId {
  const state = `text(${TASKS}, ${AGGREGATE})`;
  const stuck = addObjection(gate, 'stuck', {
    check: 'verdict',
    type: 'NoProgressError',
    reason: quote('the same plan led to the same result again'),
  });
  const judged = l.kit.when(
    stepOf(l, 'validate', 'same'),
    `size(${ROUNDS}.filter(r, r == ${state})) > ${SAME_ROUNDS_MAX}`,
    stuck,
    refused,
  );
  return l.kit.set(stepOf(l, 'validate', 'round'), [append(ROUNDS, state)], judged);
}

/** Every result goes to a person. */
function addReview(gate: Gate, recovery: Recovery): NodeId {
  return addObjection(
    gate,
    'review',
    { check: 'verdict', type: 'ReviewError', reason: quote('the result waits for review') },
    recovery.review(),
  );
}

function decimal(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** The output, and the oracle: the conditions of success. */
function addFinalize(l: Lowering): void {
  const { finalize, oracle } = l.staged;
  addStage(l, {
    stage: finalize,
    value: AGGREGATE,
    result: OUTPUT,
    ...(finalize.agent === null ? { opening: [set(OUTPUT, AGGREGATE)] } : {}),
    ...performed(l, 'finalize', OUTPUT, finalizePrompt()),
    checks: (gate, _, next) => addInvariants(gate, oracle, namesOf(l, OUTPUT), next, 'oracle'),
    next: l.finished,
  });
}
