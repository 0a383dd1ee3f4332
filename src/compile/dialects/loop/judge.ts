/** Phases 12 to 14: what is wrong with this round, whether the agent is given it back, and whether the loop goes on. */
import type { Expr, NodeId } from '../../../core/ir.ts';
import { OBSERVATIONS, TALK } from '../../agent-slots.ts';
import { quote } from '../../cel-text.ts';
import { addVerdictCheck } from './ground.ts';
import { addLet, addModel, addPick, failedTrace, idOf } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import { addOutputCheck } from './output.ts';
import {
  ANSWER,
  CROSSED,
  DOUBTS,
  FINISHED,
  KIND,
  MISSED,
  PLAN,
  PROBLEM,
  REPAIRS,
  RESULTS,
  SAID,
  SCORE,
  SCRATCH,
  STATUS,
  STEP,
  TRIGGER,
  UNFOUNDED,
  VIOLATION,
  append,
  set,
} from './slots.ts';
import { reflectPrompt, verifyPrompt } from './text.ts';

/** So many refused calls are taken for an attempt and not for a slip. */
const DENIALS_MAX = 3;
const DENIED = `size(${OBSERVATIONS}.filter(o, !o.ok && type(o.error) == string && re(o.error, "(?i)^(unknown tool|not permitted|permission denied|denied by policy)"))) >= ${DENIALS_MAX}`;
const GIVEN = `${STATUS} in ["complete", "partial"]`;
const VERDICT = 'verdict';

export function addJudgement(l: Lowering): void {
  addTermination(l);
  const reflect = addReflection(l);
  const scored = addLet(
    l,
    l.builder.fresh('confidence'),
    'validation_check',
    [set(KIND, confidenceKind(l.loop)), set(PROBLEM, confidenceProblem(l.loop))],
    reflect,
  );
  const verified = l.loop.verifier === null ? scored : addVerifier(l, l.loop.verifier, scored);
  const found = l.loop.confidence === null && l.loop.verifier === null ? reflect : verified;
  const rules = findings(l.loop);
  const choose = (of: (finding: Finding) => Expr): Expr =>
    rules.reduceRight<Expr>((rest, each) => `${each.when} ? ${of(each)} : (${rest})`, 'null');
  const writes = [
    set(
      KIND,
      choose(({ kind }) => quote(kind)),
    ),
    set(
      PROBLEM,
      choose(({ words }) => words),
    ),
    set(SCORE, `type(${SAID}) == map ? ${SAID}.confidence : null`),
  ];
  addLet(l, idOf(l, 'validation_check'), 'validation_check', writes, addOutputCheck(l, found));
}

interface Finding {
  readonly when: Expr;
  readonly kind: string;
  readonly words: Expr;
}

/** In the order in which they count. */
function findings(loop: Loop): readonly Finding[] {
  const failed = `join(${OBSERVATIONS}.filter(o, o.id in ${MISSED}).map(o, text(o.tool, ": ", o.error == null ? o.result : o.error)), "; ")`;
  return [
    {
      when: DENIED,
      kind: 'permission',
      words: `text("calls were refused ${DENIALS_MAX} times, the last one: ", ${failed})`,
    },
    { when: `size(${MISSED}) > 0 && ${STATUS} == "acting"`, kind: 'tool', words: failed },
    { when: `${VIOLATION} != null`, kind: 'grounding', words: VIOLATION },
    {
      when: `${STATUS} == "conflict"`,
      kind: 'conflict',
      words: `text("sources contradict each other: ", ${SAID}.reason)`,
    },
    { when: `!(${GIVEN})`, kind: 'none', words: '""' },
    ...(loop.conflict === null
      ? []
      : [{ when: `(${loop.conflict}) == true`, kind: 'conflict', words: '"what was observed contradicts itself"' }]),
    ...loop.validate.map(({ when, reason }) => ({ when: `(${when}) != true`, kind: 'criteria', words: quote(reason) })),
  ];
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
      set(SCORE, `${VERDICT}.confidence == null ? ${SCORE} : ${VERDICT}.confidence`),
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
    [{ when: `${KIND} == null && ${GIVEN}`, to: id }],
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
    { op: 'let', origin: 'validation_check', charges: [meter], writes: [], next: verifier },
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
    : `${KIND} == null && ${GIVEN} && (${SCORE} == null || ${SCORE} < ${confidence}) ? text("the confidence is ", ${SCORE}, ", and ${confidence} is needed") : ${PROBLEM}`;
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
        to: addPass(l, 'conflict', CROSSED, triggered),
      },
    ],
    triggered,
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
    denied: none,
    writes: [set(SCRATCH, 'it.text')],
    next: noted,
    fail: none,
  });
}

function addTermination(l: Lowering): void {
  const { builder, loop } = l;
  const round = idOf(l, 'tool_eligibility');
  const escalate = idOf(l, 'escalation_check');
  const left = `size(${FINISHED}) + 1 < size(${PLAN})`;
  // What was noted for one step is dropped with it.
  const next = addLet(
    l,
    builder.fresh('step.done'),
    'termination_check',
    [
      append(FINISHED, `${STEP}.id`),
      append(RESULTS, { id: `${STEP}.id`, answer: ANSWER }),
      set(TALK, '[]'),
      set(SCRATCH, 'null'),
      set(REPAIRS, '0'),
    ],
    round,
  );
  addPick(
    l,
    idOf(l, 'termination_check'),
    'termination_check',
    [
      { when: `${TRIGGER} != null`, to: escalate },
      { when: `${STATUS} in ["acting", "repair"]`, to: round },
      ...(loop.planner === null ? [] : [{ when: `${STATUS} == "complete" && ${left}`, to: next }]),
    ],
    escalate,
  );
}
