/** Phase 15: the loop hands over to a person or to a stronger agent, or ends the run under a code. */
import type { Case, Expr, Input, NodeId, TerminalCode, Write } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, TALK, VERDICT, append, confidenceIn, set } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { mayAsk, mayDecide } from '@sluice-internal/compile/document';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import { addInvocation } from './act.ts';
import { changingTools } from './intake.ts';
import { addOnward } from './judge.ts';
import { addModel, addQuestion, idOf, inWords, part, phase, stop, type Lowering } from './nodes.ts';
import { addRepair } from './plan.ts';
import {
  ANSWER,
  GOAL,
  DECISION,
  KIND,
  PLAN_PROBLEM,
  PROBLEM,
  REPAIRS,
  REVIEWED,
  PARSED_REPLY,
  STATUS,
  USER_ANSWERS,
  TRIGGER,
  TURN,
} from './state.ts';
import { ungroundedOf } from './model.ts';
import { DROP_TALK, evidenceMessages, verifyPrompt } from './prompts.ts';

export function addEscalation(l: Lowering): void {
  const { loop } = l;
  const final = idOf(l, 'final_response');
  const is = (trigger: string): string => `${TRIGGER} == ${quote(trigger)}`;
  const failing =
    loop.planner === null
      ? stop(l, 'REPEATED_FAILURE', 'ToolFailure', `text("tools failed repeatedly: ", ${PROBLEM})`)
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
      when: is('grounding'),
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
    {
      when: `${TRIGGER} in ["criteria", "form"]`,
      to: stop(l, 'VALIDATION_FAIL', 'ValidationError', `text(${PROBLEM})`),
    },
    { when: is('verdict'), to: addRefused(l) },
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
  l.kit.pick(phase(l, 'escalation_check'), cases, final);
}

/** The planner reads the failure and may repair the plan. */
function addReplan(l: Lowering): NodeId {
  const writes = [
    set(PLAN_PROBLEM, `text("a tool failed repeatedly: ", ${PROBLEM})`),
    set(TRIGGER, 'null'),
    ...DROP_TALK,
  ];
  return l.kit.set(part('repair', 'replan'), writes, addRepair(l));
}

/** Clears the problem of the round. */
const CLEARED: readonly Write[] = [set(TRIGGER, 'null'), set(KIND, 'null'), set(PROBLEM, 'null')];

interface Review {
  readonly about: string;
  /** The code while the run waits, and the code of a rejection. */
  readonly code: TerminalCode;
  readonly ends: TerminalCode;
  readonly type: string;
  /** The approved reply may be a question or a refusal instead of an answer. */
  readonly spoken?: readonly Case[];
  /** False if there is no answer to approve. */
  readonly approvable?: boolean;
}

/** A person approves the answer, sends it back with a remark, or ends the run. */
function addReview(l: Lowering, review: Review): NodeId {
  const { about, code, ends, type, spoken = [], approvable = true } = review;
  const message = `text(${PROBLEM} == null ? "An answer waits for review." : text("An answer needs review: ", ${PROBLEM}))`;
  const stopped = stop(l, ends, type, `text(${PROBLEM} == null ? "The answer was not approved." : ${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const approved = l.kit.set(
    part('escalation_check', `${about}.approved`),
    [
      set(REVIEWED, `${DECISION}.by`),
      set(STATUS, `${STATUS} == "conflict" && ${ANSWER} != null ? "complete" : ${STATUS}`),
      ...CLEARED,
    ],
    spoken.length === 0 ? addOnward(l) : l.kit.pick(part('escalation_check', `${about}.spoken`), spoken, addOnward(l)),
  );
  return addQuestion(l, {
    hint: `${about}.ask`,
    row: 'low_confidence',
    about,
    code,
    choices: [...(approvable ? ['approve'] : []), inWords('revise'), 'reject'],
    message,
    payload: packet(),
    ways: { ...(approvable ? { approve: approved } : {}), revise: addRemark(l, about) },
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
  return l.kit.when(
    part('escalation_check', 'conflict'),
    `${ANSWER} == null`,
    addReview(l, { ...review, approvable: false }),
    addReview(l, review),
  );
}

/** The verifier does not agree: a person decides where the boundary asks one about unsupported answers; otherwise the run fails. */
function addRefused(l: Lowering): NodeId {
  const { definitions, executor } = l.loop;
  if (ungroundedOf(definitions, executor) !== 'ask')
    return stop(l, 'VALIDATION_FAIL', 'VerifierError', `text(${PROBLEM})`);
  return addReview(l, { about: 'verdict', code: 'REVIEW_REQUIRED', ends: 'VALIDATION_FAIL', type: 'VerifierError' });
}

/** The `safer` agent judges first, if there is one; then a person. */
function addDoubt(l: Lowering): NodeId {
  const { loop } = l;
  const person = addReview(l, {
    about: 'confidence',
    code: 'LOW_CONFIDENCE',
    ends: 'LOW_CONFIDENCE',
    type: 'LowConfidence',
  });
  if (loop.escalation.safer === null) return person;
  const judged = l.kit.pick(
    part('escalation_check', 'safer.judge'),
    [
      {
        when: `safer.ok == true && ${confidenceIn('safer.confidence')} >= ${loop.verifier?.confidence ?? 0}`,
        to: l.kit.set(
          part('escalation_check', 'safer.sure'),
          [
            ...CLEARED,
            set(
              VERDICT,
              `{"by": "verifier", "ok": true, "problem": null, "confidence": safer.confidence, "conflict": null, "scripted": false}`,
            ),
          ],
          addOnward(l),
        ),
      },
      {
        when: `type(safer) == map && safer.ok == null && safer.answer != null && ${SAFER_STATUS} in ["complete", "partial"] && ${confidenceIn('safer.confidence')} >= ${loop.verifier?.confidence ?? 0}`,
        to: addSaferAnswer(l, person),
      },
    ],
    person,
  );
  return addModel(l, {
    hint: 'safer',
    origin: 'escalation_check',
    agent: loop.escalation.safer,
    input: { prompt: verifyPrompt(loop), messages: evidenceMessages() },
    schema: { type: 'object' },
    writes: [{ slot: 'safer', mode: 'object', value: 'it.text' }],
    next: judged,
    fail: person,
  });
}

const SAFER_STATUS = 'lower(trim(text(safer.status)))';

/** The `safer` agent may reply with an answer of its own, which is validated like any other. */
function addSaferAnswer(l: Lowering, person: NodeId): NodeId {
  const { loop } = l;
  const meter = l.kit.visits(
    'safer.answers',
    loop.planner === null ? 1 : loop.plan.stepsMax,
    person,
    'escalation.safer',
  );
  const writes = [set(PARSED_REPLY, 'safer'), set(STATUS, SAFER_STATUS), set(ANSWER, 'safer.answer'), ...CLEARED];
  return l.kit.set(
    { hint: 'safer.answers', origin: 'escalation_check', charges: [meter] },
    writes,
    idOf(l, 'validation_check'),
  );
}

/** The agent proposes a call of a tool that the plan does not name: a person decides. */
function addDivergence(l: Lowering): NodeId {
  const stopped = stop(l, 'REVIEW_REQUIRED', 'PlanDivergence', `text(${PROBLEM})`);
  if (!l.loop.escalation.people) return stopped;
  const go = l.kit.set(part('escalation_check', 'divergence.approved'), CLEARED, addInvocation(l));
  return addQuestion(l, {
    hint: 'divergence.ask',
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
    hint: `${about}.ask`,
    row,
    about,
    choices: [inWords('respond'), 'reject'],
    message: question,
    payload: {
      goal: GOAL,
      options: `${PARSED_REPLY}.options`,
      readings: `${PARSED_REPLY}.options`,
      fields: `${PARSED_REPLY}.fields`,
    },
    ways: { respond: addRemark(l, about) },
    otherwise: stopped,
  });
}

/** The boundary does not let the agent escalate. */
function withheld(l: Lowering, code: TerminalCode, what: Expr): NodeId {
  const message = `text(${quote(`${l.loop.executor} may not escalate this: `)}, ${what})`;
  return stop(l, code, 'NotGranted', message, 'policy');
}

/** The words of a person become a message to the agent, and the loop goes on. */
function addRemark(l: Lowering, about: string): NodeId {
  const words = `text(${DECISION}.text == null ? ${DECISION}.edit : ${DECISION}.text)`;
  const message = append(TALK, {
    role: quote('user'),
    content: words,
  });
  const answer = append(USER_ANSWERS, { turn: TURN, text: words });
  return l.kit.set(
    part('ask_user', `${about}.answered`),
    [message, answer, set(REPAIRS, '0'), ...CLEARED],
    idOf(l, 'tool_eligibility'),
  );
}

/** The first of these fields of the reply that is not null. */
function firstOf(fields: readonly string[]): Expr {
  const given = fields.reduceRight<Expr>(
    (rest, field) => `${PARSED_REPLY}.${field} != null ? ${PARSED_REPLY}.${field} : (${rest})`,
    '""',
  );
  return `text(${given})`;
}

/** The fields that a reviewer sees. */
function packet(): Input {
  return { goal: GOAL, answer: ANSWER, problem: PROBLEM, verdict: VERDICT, observations: OBSERVATIONS };
}
