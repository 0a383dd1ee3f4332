/** Phase 15: who takes over when the loop may not go on by itself, and under which code a run ends that nobody takes over. */
import type { TerminalCode } from '../../../core/codes.ts';
import type { Input, NodeId, Write } from '../../../core/ir.ts';
import { OBSERVATIONS, TALK } from '../../agent-slots.ts';
import { quote } from '../../cel-text.ts';
import { addInvocation } from './act.ts';
import type { EscalationId } from './escalation.ts';
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
  REVIEWED,
  SAID,
  SCORE,
  STATUS,
  TRIGGER,
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
  const cases = [
    { when: is('permission'), to: stop(l, 'PERMISSION_DENIED', 'RepeatedDenial', `text(${PROBLEM})`, 'policy') },
    { when: is('tool'), to: failing },
    {
      when: is('grounding'),
      to:
        loop.grounding.onViolation === 'escalate'
          ? addReview(l, 'violation', 'REVIEW_REQUIRED', 'VALIDATION_FAIL', 'GroundingError')
          : stop(l, 'VALIDATION_FAIL', 'GroundingError', `text(${PROBLEM})`),
    },
    { when: is('criteria'), to: stop(l, 'VALIDATION_FAIL', 'ValidationError', `text(${PROBLEM})`) },
    { when: is('confidence'), to: addDoubt(l) },
    { when: is('conflict'), to: addReview(l, 'conflict', 'REVIEW_REQUIRED', 'SOURCE_CONFLICT', 'SourceConflict') },
    ...(loop.planner === null ? [] : [{ when: is('divergence'), to: addDivergence(l) }]),
    { when: `${STATUS} == "impossible"`, to: stop(l, 'IMPOSSIBLE', 'Impossible', `text(${SAID}.reason)`) },
    { when: `${STATUS} == "missing_info"`, to: addUser(l, 'missing_input', 'missing_info', 'MISSING_INFO') },
    { when: `${STATUS} == "ambiguous"`, to: addUser(l, 'ambiguous_goal', 'ambiguous_intent', 'AMBIGUOUS_INTENT') },
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
function addReview(l: Lowering, about: string, code: TerminalCode, ends: TerminalCode, type: string): NodeId {
  const message = `text(${PROBLEM} == null ? "An answer waits for review." : text("An answer needs review: ", ${PROBLEM}))`;
  const stopped = stop(l, ends, type, `text(${PROBLEM} == null ? "The answer was not approved." : ${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const approved = addLet(
    l,
    l.builder.fresh(`${about}.approved`),
    'escalation_check',
    [set(REVIEWED, `${HEARD}.by`), ...CLEARED],
    idOf(l, 'final_response'),
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
        when: `safer.ok == true && safer.confidence >= ${loop.confidence ?? 0}`,
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
    next: judged,
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
    payload: { ...packet(), calls: 'reply.toolCalls' },
    ways: { approve: go },
    otherwise: stopped,
  });
}

function addUser(l: Lowering, row: EscalationId, about: string, code: TerminalCode): NodeId {
  const question = `text(${SAID}.question == null ? ${SAID}.reason : ${SAID}.question)`;
  const stopped = stop(l, code, code === 'MISSING_INFO' ? 'MissingInput' : 'AmbiguousGoal', question);
  if (!l.loop.escalation.people) return stopped;
  return addQuestion(l, {
    id: l.builder.fresh(`${about}.ask`),
    row,
    about,
    choices: ['answer', 'reject'],
    message: question,
    payload: { goal: GOAL, options: `${SAID}.options` },
    ways: { answer: addRemark(l, about) },
    otherwise: stopped,
  });
}

/** What a person said becomes part of the talk, and the loop goes on. */
function addRemark(l: Lowering, about: string): NodeId {
  const said = append(TALK, {
    role: quote('user'),
    content: `text(${HEARD}.text == null ? ${HEARD}.edit : ${HEARD}.text)`,
  });
  return addLet(l, l.builder.fresh(`${about}.told`), 'ask_user', [said, ...CLEARED], idOf(l, 'tool_eligibility'));
}

/** What whoever decides has to see. */
function packet(): Input {
  return { goal: GOAL, answer: ANSWER, problem: PROBLEM, observations: OBSERVATIONS };
}
