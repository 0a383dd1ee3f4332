/** Phases 12 to 14: what is wrong with this round, whether the agent is given it back, and whether the loop goes on. */
import type { Case, Expr, NodeId } from '../../../ir/nodes.ts';
import { TALK } from '../../lower/agent-turn/slots.ts';
import { quote } from '../../expressions/cel-text.ts';
import { chosen, contested, findings, offered } from './findings.ts';
import type { Finding } from './findings.ts';
import { addVerdictCheck } from './ground.ts';
import { addLet, addModel, addPick, failedTrace, idOf } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import { addOutputCheck, outputDue } from './output.ts';
import { GIVEN } from './reply.ts';
import {
  ANSWER,
  CROSSED,
  DOUBTS,
  FINISHED,
  KIND,
  PLAN,
  PROBLEM,
  REPAIRS,
  RESULTS,
  REVIEWED,
  SAID,
  SCORE,
  SCRATCH,
  STATUS,
  STEP,
  TRIGGER,
  UNFOUNDED,
  append,
  set,
} from './slots.ts';
import { reflectPrompt, verifyPrompt } from './text.ts';

const VERDICT = 'verdict';

export function addJudgement(l: Lowering): void {
  addTermination(l);
  const reflect = addReflection(l);
  const late = addLet(
    l,
    l.builder.fresh('confidence'),
    'validation_check',
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
  // What a person would have to settle is looked at last: they are shown what holds otherwise.
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
    set(SCORE, `type(${SAID}) == map ? ${confidenceIn(`${SAID}.confidence`)} : null`),
  ];
  const next = staged ? addOutputCheck(l, offered(l.loop), verified) : reflect;
  addLet(l, idOf(l, 'validation_check'), 'validation_check', writes, next);
}

/** The verifier's word counts before the agent's own, if it rests on observations as much as an answer has to. */
function addVerifier(l: Lowering, agent: string, next: NodeId): NodeId {
  const { builder } = l;
  const heard = addLet(
    l,
    builder.fresh('verifier.heard'),
    'validation_check',
    [
      set(KIND, `${UNFOUNDED} != null ? "verdict" : ${VERDICT}.ok != true ? "criteria" : null`),
      set(
        PROBLEM,
        `${UNFOUNDED} != null ? ${UNFOUNDED} : ${VERDICT}.ok != true ? text(${VERDICT}.problem == null ? "the verifier did not agree" : ${VERDICT}.problem) : null`,
      ),
      set(SCORE, `${VERDICT}.confidence == null ? ${SCORE} : ${confidenceIn(`${VERDICT}.confidence`)}`),
    ],
    next,
  );
  const id = builder.fresh('verifier');
  const checked = addVerdictCheck(
    l,
    VERDICT,
    l.loop.grounding.onViolation === 'repair' ? addSecondLook(l, id, heard) : heard,
  );
  addModel(l, {
    id,
    origin: 'validation_check',
    agent,
    input: { prompt: verifyPrompt(l.loop) },
    writes: [{ slot: VERDICT, mode: 'reply', value: 'it.text' }],
    next: checked,
    fail: addLet(l, builder.fresh('verifier.failed'), 'validation_check', [], failedTrace(l)),
  });
  return addPick(
    l,
    builder.fresh('verifier.look'),
    'validation_check',
    [{ when: `${KIND} == null && ${offered(l.loop)}`, to: id }],
    next,
  );
}

/** Whoever judges without ground judges again, as often as an agent may mend its answer. */
function addSecondLook(l: Lowering, verifier: NodeId, heard: NodeId): NodeId {
  const { builder, loop } = l;
  const meter = builder.meter('verdict.repairs', {
    unit: 'visits',
    max: loop.reflection.repairs,
    over: heard,
    label: 'reflection.repairs',
  });
  const again = builder.add(
    builder.fresh('verifier.again'),
    { op: 'let', label: { name: 'validation_check' }, charges: [meter], writes: [], next: verifier },
    l.at,
  );
  return addPick(
    l,
    builder.fresh('verifier.sound'),
    'validation_check',
    [{ when: `${UNFOUNDED} != null`, to: again }],
    heard,
  );
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

/** What is no number from 0 to 1 is no confidence. */
export function confidenceIn(value: Expr): Expr {
  return `cel.bind(c, ${value}, type(c) in [int, double] && c >= 0 && c <= 1 ? c : null)`;
}

/** Reflection only where there is something to reflect on, and only as often as its kind allows. */
function addReflection(l: Lowering): NodeId {
  const { builder, loop } = l;
  const { reflection, grounding } = loop;
  const on = idOf(l, 'termination_check');
  const triggered = addLet(l, builder.fresh('triggered'), 'reflection_trigger', [set(TRIGGER, KIND)], on);
  const passed = addLet(l, builder.fresh('sound'), 'reflection_trigger', [set(KIND, 'null'), set(PROBLEM, 'null')], on);
  const again = addLet(l, builder.fresh('repair.tool'), 'reflection_trigger', [set(REPAIRS, `${REPAIRS} + 1`)], on);
  const told = append(TALK, { role: quote('user'), content: `text("This does not hold: ", ${PROBLEM}, ". Mend it.")` });
  const mend = addLet(
    l,
    builder.fresh('repair.answer'),
    'reflection_trigger',
    [set(REPAIRS, `${REPAIRS} + 1`), set(STATUS, '"repair"'), told],
    on,
  );
  const room = `${REPAIRS} < ${reflection.repairs}`;
  return addPick(
    l,
    idOf(l, 'reflection_trigger'),
    'reflection_trigger',
    [
      { when: `${TRIGGER} != null`, to: on },
      { when: `${KIND} == null || ${KIND} == "none"`, to: passed },
      { when: `${KIND} == "tool" && ${room}`, to: again },
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

/** Where there is no cross-check to be had, the answer is validated before a person is shown it. */
function addUncrossed(l: Lowering, triggered: NodeId): NodeId {
  const { builder, loop } = l;
  const meter = builder.meter('conflict.uncrossed', {
    unit: 'visits',
    max: 1,
    over: triggered,
    label: 'reflection.conflict',
  });
  const writes = [set(CROSSED, String(loop.reflection.conflict))];
  return builder.add(
    builder.fresh('conflict.uncrossed'),
    { op: 'let', label: { name: 'reflection_trigger' }, charges: [meter], writes, next: idOf(l, 'validation_check') },
    l.at,
  );
}

/** One pass: the agent is asked what is wrong, and goes on with what it says. Without a budget for it, there is none. */
function addPass(l: Lowering, kind: 'confidence' | 'conflict', counter: string, none: NodeId): NodeId {
  const { builder, loop } = l;
  const on = idOf(l, 'termination_check');
  const noted = addLet(
    l,
    builder.fresh(`reflect.${kind}.noted`),
    'reflection_trigger',
    [
      set(counter, `${counter} + 1`),
      set(STATUS, '"repair"'),
      append(TALK, { role: quote('user'), content: `text("On reflection: ", ${SCRATCH}, "\\nGo on.")` }),
    ],
    on,
  );
  return addModel(l, {
    id: builder.fresh(`reflect.${kind}`),
    origin: 'reflection_trigger',
    agent: loop.planner ?? loop.executor,
    input: { prompt: reflectPrompt(loop, kind) },
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
  addPick(
    l,
    idOf(l, 'termination_check'),
    'termination_check',
    [
      { when: `${TRIGGER} != null`, to: escalate },
      { when: `${STATUS} in ["acting", "repair"]`, to: round },
      ...stepCases(l),
    ],
    escalate,
  );
}

/** Where an answer goes that somebody has let pass: out, or on to the next step of the plan. */
export function addOnward(l: Lowering): NodeId {
  const final = idOf(l, 'final_response');
  const cases = stepCases(l);
  return cases.length === 0 ? final : addPick(l, l.builder.fresh('onward'), 'escalation_check', cases, final);
}

/** A step is done, and it was not the last one. */
function stepCases(l: Lowering): readonly Case[] {
  if (l.loop.planner === null) return [];
  const next = addLet(
    l,
    l.builder.fresh('step.done'),
    'termination_check',
    [
      append(FINISHED, `${STEP}.id`),
      append(RESULTS, { id: `${STEP}.id`, answer: ANSWER }),
      // What was noted for one step is dropped with it.
      set(TALK, '[]'),
      set(SCRATCH, 'null'),
      set(REPAIRS, '0'),
      set(REVIEWED, 'null'),
    ],
    idOf(l, 'tool_eligibility'),
  );
  return [{ when: `${STATUS} == "complete" && size(${FINISHED}) + 1 < size(${PLAN})`, to: next }];
}
