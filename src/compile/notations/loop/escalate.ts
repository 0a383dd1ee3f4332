/** Phase 15: who takes over when the loop may not go on by itself, and under which code a run ends that nobody takes over. */
import type { TerminalCode } from '../../../ir/codes.ts';
import type { Case, Expr, Input, NodeId, Write } from '../../../ir/nodes.ts';
import { OBSERVATIONS, TALK } from '../../lower/agent-turn/slots.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { mayAsk, mayDecide } from '../../document/boundary.ts';
import { addInvocation } from './act.ts';
import { addVerdictCheck } from './ground.ts';
import type { EscalationId } from '../../../catalog/escalations.ts';
import { changingTools } from './intake.ts';
import { addOnward, confidenceIn } from './judge.ts';
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
    { when: `${STATUS} == "impossible"`, to: stop(l, 'IMPOSSIBLE', 'Impossible', firstOf(['reason', 'answer'])) },
    { when: `${STATUS} == "missing_info"`, to: addUser(l, 'missing_input', 'missing_info', 'MISSING_INFO') },
    { when: `${STATUS} == "ambiguous"`, to: addUser(l, 'ambiguous_goal', 'ambiguous_intent', 'AMBIGUOUS_INTENT') },
  ];
  const contested = addConflict(l);
  const cases = [
    { when: is('permission'), to: stop(l, 'PERMISSION_DENIED', 'RepeatedDenial', `text(${PROBLEM})`, 'policy') },
    { when: is('tool'), to: failing },
    {
      when: `${TRIGGER} in ["grounding", "verdict"]`,
      to:
        loop.grounding.onViolation === 'escalate'
          ? addReview(l, {
              about: 'violation',
              code: 'REVIEW_REQUIRED',
              ends: 'VALIDATION_FAIL',
              type: 'GroundingError',
              spoken: [...spoken, { when: `${STATUS} == "conflict" && ${ANSWER} == null`, to: contested }],
            })
          : stop(l, 'VALIDATION_FAIL', 'GroundingError', `text(${PROBLEM})`),
    },
    { when: is('criteria'), to: stop(l, 'VALIDATION_FAIL', 'ValidationError', `text(${PROBLEM})`) },
    { when: is('confidence'), to: addDoubt(l) },
    ...(mayDecide(loop.definitions, loop.executor, 'escalate')
      ? []
      : [{ when: `${is('conflict')} && ${STATUS} == "conflict"`, to: withheld(l, 'SOURCE_CONFLICT', PROBLEM) }]),
    { when: is('conflict'), to: contested },
    ...(loop.planner === null ? [] : [{ when: is('divergence'), to: addDivergence(l) }]),
    ...spoken,
    ...(loop.review
      ? [
          {
            when: `${REVIEWED} == null`,
            to: addReview(l, {
              about: 'review',
              code: 'REVIEW_REQUIRED',
              ends: 'REVIEW_REQUIRED',
              type: 'ReviewRequired',
            }),
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

interface Review {
  readonly about: string;
  /** What the run shows while it waits, and what it ends under. */
  readonly code: TerminalCode;
  readonly ends: TerminalCode;
  readonly type: string;
  /** What was approved may be no answer. */
  readonly spoken?: readonly Case[];
  readonly choices?: readonly string[];
}

/** A person looks at the answer: it goes out, goes back with a remark, or the run ends. */
function addReview(l: Lowering, review: Review): NodeId {
  const { about, code, ends, type, spoken = [], choices = ['approve', 'revise', 'reject'] } = review;
  const message = `text(${PROBLEM} == null ? "An answer waits for review." : text("An answer needs review: ", ${PROBLEM}))`;
  const stopped = stop(l, ends, type, `text(${PROBLEM} == null ? "The answer was not approved." : ${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const approved = addLet(
    l,
    l.builder.fresh(`${about}.approved`),
    'escalation_check',
    [
      set(REVIEWED, `${HEARD}.by`),
      set(STATUS, `${STATUS} == "conflict" && ${ANSWER} != null ? "complete" : ${STATUS}`),
      ...CLEARED,
    ],
    spoken.length === 0
      ? addOnward(l)
      : addPick(l, l.builder.fresh(`${about}.spoken`), 'escalation_check', spoken, addOnward(l)),
  );
  return addQuestion(l, {
    id: l.builder.fresh(`${about}.ask`),
    row: 'low_confidence',
    about,
    code,
    choices,
    message,
    payload: packet(),
    ways: { ...(choices.includes('approve') ? { approve: approved } : {}), revise: addRemark(l, about) },
    otherwise: stopped,
  });
}

/** Without an answer there is nothing to approve. */
function addConflict(l: Lowering): NodeId {
  const review = {
    about: 'conflict',
    code: 'REVIEW_REQUIRED',
    ends: 'SOURCE_CONFLICT',
    type: 'SourceConflict',
  } as const;
  return addPick(
    l,
    l.builder.fresh('conflict'),
    'escalation_check',
    [{ when: `${ANSWER} == null`, to: addReview(l, { ...review, choices: ['revise', 'reject'] }) }],
    addReview(l, review),
  );
}

/** A stronger agent first, where there is one, then a person. */
function addDoubt(l: Lowering): NodeId {
  const { builder, loop } = l;
  const person = addReview(l, {
    about: 'confidence',
    code: 'LOW_CONFIDENCE',
    ends: 'LOW_CONFIDENCE',
    type: 'LowConfidence',
  });
  if (loop.escalation.safer === null) return person;
  const judged = addPick(
    l,
    builder.fresh('safer.judge'),
    'escalation_check',
    [
      {
        when: `${UNFOUNDED} == null && safer.ok == true && ${confidenceIn('safer.confidence')} >= ${loop.confidence ?? 0}`,
        to: addLet(
          l,
          builder.fresh('safer.sure'),
          'escalation_check',
          [set(SCORE, 'safer.confidence'), ...CLEARED],
          addOnward(l),
        ),
      },
      {
        when: `${UNFOUNDED} == null && type(safer) == map && safer.ok == null && safer.answer != null && ${SAFER_STATUS} in ["complete", "partial"] && ${confidenceIn('safer.confidence')} >= ${loop.confidence ?? 0}`,
        to: addSaferAnswer(l, person),
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

const SAFER_STATUS = 'lower(trim(text(safer.status)))';

/** Who was asked to judge and answers instead has given another answer, which is validated like any. */
function addSaferAnswer(l: Lowering, person: NodeId): NodeId {
  const { builder, loop } = l;
  const meter = builder.meter('safer.answers', {
    unit: 'visits',
    max: loop.planner === null ? 1 : loop.plan.stepsMax,
    over: person,
    label: 'escalation.safer',
  });
  const writes = [set(SAID, 'safer'), set(STATUS, SAFER_STATUS), set(ANSWER, 'safer.answer'), ...CLEARED];
  return builder.add(
    builder.fresh('safer.answers'),
    { op: 'let', label: { name: 'escalation_check' }, charges: [meter], writes, next: idOf(l, 'validation_check') },
    l.at,
  );
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
  const question = firstOf(['question', 'reason', 'answer']);
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

/** What the agent said, in the first of these fields that has anything. */
function firstOf(fields: readonly string[]): Expr {
  const given = fields.reduceRight<Expr>(
    (rest, field) => `${SAID}.${field} != null ? ${SAID}.${field} : (${rest})`,
    '""',
  );
  return `text(${given})`;
}

/** What whoever decides has to see. */
function packet(): Input {
  return { goal: GOAL, answer: ANSWER, problem: PROBLEM, observations: OBSERVATIONS };
}
