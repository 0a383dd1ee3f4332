/** Phases 12 to 14: find the problem of the round, decide whether the agent repairs it, and whether the loop goes on. */
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import type { Case, Expr, NodeId } from '@sluice-internal/kernel/ir';
import { TALK, append, set } from '@sluice-internal/compile/lower';
import { quote } from '@sluice-internal/compile/expressions';
import {
  GIVEN,
  addOutputCheck,
  chosen,
  contested,
  findings,
  hasOutput,
  isLast,
  offered,
  outputDue,
} from './findings.ts';
import type { Finding } from './findings.ts';
import { addModel, failedTrace, idOf, part, phase, type Lowering } from './nodes.ts';
import type { Loop } from './model.ts';
import {
  ANSWER,
  CROSSED,
  DOUBTS,
  FINISHED,
  KIND,
  MARKS,
  PROBLEM,
  ONE_MORE_REPAIR,
  REPAIRS,
  RESULTS,
  REVIEWED,
  PARSED_REPLY,
  SCORE,
  SCRATCH,
  SINCE,
  STATUS,
  STEP,
  TRIGGER,
  TURN,
  UNFIT,
  VIOLATIONS,
} from './state.ts';
import { DROP_TALK, evidenceMessages, reflectPrompt, verifyPrompt } from './prompts.ts';

const VERDICT = 'verdict';
const VERDICT_SCHEMA = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };

export function addJudgement(l: Lowering): void {
  addTermination(l);
  const reflect = addReflection(l);
  const late = l.kit.set(
    part('validation_check', 'confidence'),
    [
      set(
        KIND,
        `${KIND} != null ? ${KIND} : ${chosen(contested(l.loop), ({ kind }) => quote(kind), confidenceKind(l.loop))}`,
      ),
      set(
        PROBLEM,
        `${KIND} != null ? ${PROBLEM} : ${chosen(contested(l.loop), ({ words }) => words, confidenceProblem(l.loop))}`,
      ),
    ],
    reflect,
  );
  const { verifier, confidence } = l.loop;
  // Problems for a person come last, so that the person sees an answer that is valid in all other ways.
  const staged = verifier !== null || confidence !== null || outputDue(l.loop) !== 'false';
  const verified = verifier === null ? late : addVerifier(l, verifier, late);
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
    set(SCORE, `type(${PARSED_REPLY}) == map ? ${confidenceIn(`${PARSED_REPLY}.confidence`)} : null`),
  ];
  const next = staged ? addOutputCheck(l, offered(l.loop), verified) : reflect;
  l.kit.set(phase(l, 'validation_check'), writes, next);
}

/** The verifier's verdict replaces the agent's own confidence. */
function addVerifier(l: Lowering, agent: string, next: NodeId): NodeId {
  const { builder } = l;
  const judged = l.kit.set(
    part('validation_check', 'verifier.judged'),
    [
      set(KIND, `${VERDICT}.ok != true ? "criteria" : null`),
      set(
        PROBLEM,
        `${VERDICT}.ok != true ? text(${VERDICT}.problem == null ? "the verifier did not agree" : ${VERDICT}.problem) : null`,
      ),
      set(SCORE, `${VERDICT}.confidence == null ? ${SCORE} : ${confidenceIn(`${VERDICT}.confidence`)}`),
    ],
    next,
  );
  const id = builder.fresh('verifier');
  addModel(l, {
    id,
    origin: 'validation_check',
    agent,
    input: { prompt: verifyPrompt(l.loop), messages: evidenceMessages() },
    schema: VERDICT_SCHEMA,
    writes: [{ slot: VERDICT, mode: 'object', value: 'it.text' }],
    next: judged,
    unfit: l.kit.set(
      part('validation_check', 'verifier.unfit'),
      [
        set(VERDICT, `{"ok": false, "problem": text("the verdict cannot be read: ", error.message)}`),
        set('error', 'null'),
      ],
      judged,
    ),
    fail: l.kit.set(part('validation_check', 'verifier.failed'), [], failedTrace(l)),
  });
  return l.kit.when(part('validation_check', 'verifier.look'), `${KIND} == null && ${offered(l.loop)}`, id, next);
}

function confidenceKind({ confidence }: Loop): Expr {
  return confidence === null
    ? KIND
    : `${KIND} == null && ${GIVEN} && (${SCORE} == null || ${SCORE} < ${confidence}) ? "confidence" : ${KIND}`;
}

function confidenceProblem({ confidence }: Loop): Expr {
  return confidence === null
    ? PROBLEM
    : `${KIND} == null && ${GIVEN} && (${SCORE} == null || ${SCORE} < ${confidence}) ? (${SCORE} == null ? "no confidence from 0 to 1 was given, and ${confidence} is needed" : text("the confidence is ", ${SCORE}, ", and ${confidence} is needed")) : ${PROBLEM}`;
}

/** A missing or out-of-range confidence is null. */
export function confidenceIn(value: Expr): Expr {
  return `cel.bind(c, ${value}, type(c) in [int, double] && c >= 0 && c <= 1 ? c : null)`;
}

/** Reflection needs a problem, and each kind of problem has a limit. */
function addReflection(l: Lowering): NodeId {
  const { loop } = l;
  const { reflection, grounding } = loop;
  const on = idOf(l, 'termination_check');
  const triggered = l.kit.set(part('reflection_trigger', 'triggered'), [set(TRIGGER, KIND)], on);
  const passed = l.kit.set(part('reflection_trigger', 'sound'), [set(KIND, 'null'), set(PROBLEM, 'null')], on);
  const again = l.kit.set(part('reflection_trigger', 'repair.tool'), [set(REPAIRS, ONE_MORE_REPAIR)], on);
  const correction = append(TALK, {
    role: quote('user'),
    content: `text("This is not acceptable: ", ${PROBLEM}, ". Correct it.")`,
  });
  const mend = l.kit.set(
    part('reflection_trigger', 'repair.answer'),
    [set(REPAIRS, ONE_MORE_REPAIR), set(STATUS, '"repair"'), correction],
    on,
  );
  const room = `${REPAIRS} < ${reflection.repairs}`;
  return l.kit.pick(
    phase(l, 'reflection_trigger'),
    [
      { when: `${TRIGGER} != null`, to: on },
      { when: `${KIND} == null || ${KIND} == "none"`, to: passed },
      { when: `${KIND} == "tool" && ${room}`, to: again },
      ...(hasOutput(loop) ? [{ when: `${UNFIT} && ${room}`, to: addRetried(l, mend, triggered) }] : []),
      { when: `${KIND} == "criteria" && ${room}`, to: mend },
      ...(grounding.onViolation === 'repair' ? [{ when: `${KIND} == "grounding" && ${room}`, to: mend }] : []),
      {
        when: `${KIND} == "confidence" && ${DOUBTS} < ${reflection.confidence}`,
        to: addPass(l, 'confidence', DOUBTS, triggered),
      },
      {
        when: `${KIND} == "conflict" && ${CROSSED} < ${reflection.conflict}`,
        to: addPass(l, 'conflict', CROSSED, addUncrossed(l, triggered)),
      },
    ],
    triggered,
  );
}

/** The repair of an answer that does not fit its schema counts as a retry, as in every notation. Without room there is no repair. */
function addRetried(l: Lowering, mend: NodeId, none: NodeId): NodeId {
  return l.kit.call(
    { hint: 'repair.retry', origin: 'reflection_trigger', onBudget: none },
    {
      effect: { kind: 'check', check: RETRY_CHECK, input: { name: quote(l.loop.executor) }, reserve: { retries: 1 } },
      // The retry budget is for requests that failed.
      shared: { retryBudget: null },
      next: mend,
      fail: none,
    },
  );
}

/** If no cross-check is possible, the answer is validated before a person sees it. */
function addUncrossed(l: Lowering, triggered: NodeId): NodeId {
  const { loop } = l;
  const meter = l.kit.visits('conflict.uncrossed', 1, triggered, 'reflection.conflict');
  const writes = [set(CROSSED, String(loop.reflection.conflict))];
  return l.kit.set(
    { hint: 'conflict.uncrossed', origin: 'reflection_trigger', charges: [meter] },
    writes,
    idOf(l, 'validation_check'),
  );
}

/** One pass: the agent reflects on the problem and goes on with its notes. Without budget there is no pass. */
function addPass(l: Lowering, kind: 'confidence' | 'conflict', counter: string, none: NodeId): NodeId {
  const { loop } = l;
  const on = idOf(l, 'termination_check');
  const noted = l.kit.set(
    part('reflection_trigger', `reflect.${kind}.noted`),
    [
      set(counter, `${counter} + 1`),
      set(STATUS, '"repair"'),
      append(TALK, { role: quote('user'), content: `text("On reflection: ", ${SCRATCH}, "\\nGo on.")` }),
    ],
    on,
  );
  return addModel(l, {
    hint: `reflect.${kind}`,
    origin: 'reflection_trigger',
    agent: loop.planner ?? loop.executor,
    input: { prompt: reflectPrompt(loop, kind), messages: evidenceMessages() },
    reserve: { reflections: 1 },
    onBudget: none,
    writes: [set(SCRATCH, 'it.text')],
    next: noted,
    fail: none,
  });
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
      set(SCRATCH, 'null'),
      set(REPAIRS, '0'),
      set(REVIEWED, 'null'),
    ],
    idOf(l, 'tool_eligibility'),
  );
  return [{ when: `${STATUS} == "complete" && !${isLast(l.loop)}`, to: next }];
}
