/** Phase 15: who takes over when the loop may not go on by itself, and under which code a run ends that nobody takes over. */
import type { TerminalCode } from '../../../core/codes.ts';
import type { Case, Expr, Input, NodeId, Write } from '../../../core/ir.ts';
import { OBSERVATIONS, TALK } from '../../agent-slots.ts';
import { literal, quote } from '../../cel-text.ts';
import { mayAsk, mayDecide } from '../../decision-rights.ts';
import { addInvocation } from './act.ts';
import { addVerdictCheck } from './ground.ts';
import type { EscalationId } from '../../../core/escalations.ts';
import { changingTools } from './intake.ts';
import { addLet, addModel, addPick, addQuestion, idOf, stop } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { addRepair } from './plan.ts';
import {
  ANSWER,
  GOAL,
  HEARD,
  KIND,
  PLAN_PROBLEM,
  PROBLEM,
  REPAIRS,
  REVIEWED,
  SAID,
  SCORE,
  STATUS,
  TOLD,
  TRIGGER,
  TURN,
  UNFOUNDED,
  append,
  set,
} from './slots.ts';
import { verifyPrompt } from './text.ts';

export function addEscalation(l: Lowering): void {
  const { loop } = l;
  const final = idOf(l, 'final_response');
  const is = (trigger: string): string => `${TRIGGER} == ${quote(trigger)}`;
  const failing =
    loop.planner === null
      ? stop(l, 'REPEATED_FAILURE', 'ToolFailure', `text("tools failed again and again: ", ${PROBLEM})`)
      : addReplan(l);
  const spoken = [
    { when: `${STATUS} == "impossible"`, to: stop(l, 'IMPOSSIBLE', 'Impossible', `text(${SAID}.reason)`) },
    { when: `${STATUS} == "missing_info"`, to: addUser(l, 'missing_input', 'missing_info', 'MISSING_INFO') },
    { when: `${STATUS} == "ambiguous"`, to: addUser(l, 'ambiguous_goal', 'ambiguous_intent', 'AMBIGUOUS_INTENT') },
  ];
  const cases = [
    { when: is('permission'), to: stop(l, 'PERMISSION_DENIED', 'RepeatedDenial', `text(${PROBLEM})`, 'policy') },
    { when: is('tool'), to: failing },
    {
      when: `${TRIGGER} in ["grounding", "verdict"]`,
      to:
        loop.grounding.onViolation === 'escalate'
          ? addReview(l, 'violation', 'REVIEW_REQUIRED', 'VALIDATION_FAIL', 'GroundingError', spoken)
          : stop(l, 'VALIDATION_FAIL', 'GroundingError', `text(${PROBLEM})`),
    },
    { when: is('criteria'), to: stop(l, 'VALIDATION_FAIL', 'ValidationError', `text(${PROBLEM})`) },
    { when: is('confidence'), to: addDoubt(l) },
    ...(mayDecide(loop.definitions, loop.executor, 'escalate')
      ? []
      : [{ when: `${is('conflict')} && ${STATUS} == "conflict"`, to: withheld(l, 'SOURCE_CONFLICT', PROBLEM) }]),
    { when: is('conflict'), to: addReview(l, 'conflict', 'REVIEW_REQUIRED', 'SOURCE_CONFLICT', 'SourceConflict') },
    ...(loop.planner === null ? [] : [{ when: is('divergence'), to: addDivergence(l) }]),
    ...spoken,
    ...(loop.review
      ? [
          {
            when: `${REVIEWED} == null`,
            to: addReview(l, 'review', 'REVIEW_REQUIRED', 'REVIEW_REQUIRED', 'ReviewRequired'),
          },
        ]
      : []),
  ];
  addPick(l, idOf(l, 'escalation_check'), 'escalation_check', cases, final);
}

/** The planner is told what went wrong, as long as the plan may be mended. */
function addReplan(l: Lowering): NodeId {
  const writes = [
    set(PLAN_PROBLEM, `text("a tool failed again and again: ", ${PROBLEM})`),
    set(TRIGGER, 'null'),
    set(TALK, '[]'),
  ];
  return addLet(l, l.builder.fresh('replan'), 'repair', writes, addRepair(l));
}

/** What goes on after an answer begins with nothing open. */
const CLEARED: readonly Write[] = [set(TRIGGER, 'null'), set(KIND, 'null'), set(PROBLEM, 'null')];

/** A person looks at the answer: it goes out, goes back with a remark, or the run ends. */
function addReview(
  l: Lowering,
  about: string,
  code: TerminalCode,
  ends: TerminalCode,
  type: string,
  spoken: readonly Case[] = [],
): NodeId {
  const message = `text(${PROBLEM} == null ? "An answer waits for review." : text("An answer needs review: ", ${PROBLEM}))`;
  const stopped = stop(l, ends, type, `text(${PROBLEM} == null ? "The answer was not approved." : ${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const approved = addLet(
    l,
    l.builder.fresh(`${about}.approved`),
    'escalation_check',
    [set(REVIEWED, `${HEARD}.by`), ...CLEARED],
    spoken.length === 0
      ? idOf(l, 'final_response')
      : addPick(l, l.builder.fresh(`${about}.spoken`), 'escalation_check', spoken, idOf(l, 'final_response')),
  );
  return addQuestion(l, {
    id: l.builder.fresh(`${about}.ask`),
    row: 'low_confidence',
    about,
    code,
    choices: ['approve', 'revise', 'reject'],
    message,
    payload: packet(),
    ways: { approve: approved, revise: addRemark(l, about) },
    otherwise: stopped,
  });
}

/** A stronger agent first, where there is one, then a person. */
function addDoubt(l: Lowering): NodeId {
  const { builder, loop } = l;
  const person = addReview(l, 'confidence', 'LOW_CONFIDENCE', 'LOW_CONFIDENCE', 'LowConfidence');
  if (loop.escalation.safer === null) return person;
  const judged = addPick(
    l,
    builder.fresh('safer.judge'),
    'escalation_check',
    [
      {
        when: `${UNFOUNDED} == null && safer.ok == true && safer.confidence >= ${loop.confidence ?? 0}`,
        to: addLet(
          l,
          builder.fresh('safer.sure'),
          'escalation_check',
          [set(SCORE, 'safer.confidence'), ...CLEARED],
          idOf(l, 'final_response'),
        ),
      },
    ],
    person,
  );
  return addModel(l, {
    id: builder.fresh('safer'),
    origin: 'escalation_check',
    agent: loop.escalation.safer,
    input: { prompt: verifyPrompt(loop) },
    writes: [{ slot: 'safer', mode: 'reply', value: 'it.text' }],
    next: addVerdictCheck(l, 'safer', judged),
    fail: person,
  });
}

/** What the agent wants to do is not in the plan: no reflection, somebody decides. */
function addDivergence(l: Lowering): NodeId {
  const stopped = stop(l, 'REVIEW_REQUIRED', 'PlanDivergence', `text(${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const go = addLet(l, l.builder.fresh('divergence.approved'), 'escalation_check', CLEARED, addInvocation(l));
  return addQuestion(l, {
    id: l.builder.fresh('divergence.ask'),
    row: 'high_impact_mutation',
    about: 'divergence',
    code: 'REVIEW_REQUIRED',
    choices: ['approve', 'reject'],
    message: `text(${PROBLEM})`,
    payload: {
      ...packet(),
      calls: 'reply.toolCalls',
      tool: 'join(reply.toolCalls.map(c, c.name), ", ")',
      args: 'reply.toolCalls.map(c, c.args)',
      touches: literal([...changingTools(l.loop)]),
      rollback: 'null',
    },
    ways: { approve: go },
    otherwise: stopped,
  });
}

function addUser(l: Lowering, row: EscalationId, about: string, code: TerminalCode): NodeId {
  const question = `text(${SAID}.question == null ? ${SAID}.reason : ${SAID}.question)`;
  const stopped = stop(l, code, code === 'MISSING_INFO' ? 'MissingInput' : 'AmbiguousGoal', question);
  if (!mayAsk(l.loop.definitions, l.loop.executor)) return withheld(l, code, question);
  if (!l.loop.escalation.people) return stopped;
  return addQuestion(l, {
    id: l.builder.fresh(`${about}.ask`),
    row,
    about,
    choices: ['respond', 'reject'],
    message: question,
    payload: { goal: GOAL, options: `${SAID}.options`, readings: `${SAID}.options`, fields: `${SAID}.fields` },
    ways: { respond: addRemark(l, about) },
    otherwise: stopped,
  });
}

/** The agent wants somebody else to decide, which its boundary does not let it want. */
function withheld(l: Lowering, code: TerminalCode, what: Expr): NodeId {
  const message = `text(${quote(`${l.loop.executor} may not put this before anybody: `)}, ${what})`;
  return stop(l, code, 'NotGranted', message, 'policy');
}

/** What a person said becomes part of the talk, and the loop goes on. */
function addRemark(l: Lowering, about: string): NodeId {
  const words = `text(${HEARD}.text == null ? ${HEARD}.edit : ${HEARD}.text)`;
  const said = append(TALK, {
    role: quote('user'),
    content: words,
  });
  const heard = append(TOLD, { turn: TURN, text: words });
  return addLet(
    l,
    l.builder.fresh(`${about}.told`),
    'ask_user',
    [said, heard, set(REPAIRS, '0'), ...CLEARED],
    idOf(l, 'tool_eligibility'),
  );
}

/** What whoever decides has to see. */
function packet(): Input {
  return { goal: GOAL, answer: ANSWER, problem: PROBLEM, observations: OBSERVATIONS };
}
