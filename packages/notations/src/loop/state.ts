/**
 * The slots and the phases of a loop. `goal`, `plan`, `finished`, `results`, `task` and `observations` are the state of the
 * task: the engine writes them, the model only reads them. `talk` and `scratch` are notes of one step and end with it. No gate
 * and no route reads `talk`.
 */
import type { View, Write } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, TALK, append, set } from '@sluice-internal/compile/lower';

export const GOAL = 'goal';
export const LACKING = 'lacking';
export const INTENT = 'intent';
export const SCOPE = 'scope';
export const BUDGET = 'budget';
export const PLAN = 'plan';
export const PLAN_PROBLEM = 'plan_problem';
/** Number of plans made. */
export const DRAFTS = 'drafts';
export const STEP = 'step';
/** The turn in which the current step began. */
export const SINCE = 'since';
export const FINISHED = 'finished';
export const RESULTS = 'results';
export const TASK = 'task';
export const TURN = 'turn';
/** The last reply: an object if it is a JSON object, otherwise text. */
export const PARSED_REPLY = 'parsed_reply';
export const STATUS = 'status';
/** The reason why the values of the reply are not bound to observations, or null. */
export const UNBOUND = 'unbound';
export const ANSWER = 'answer';
/** The ids of this round's failed observations. */
export const MISSED = 'missed';
export const VIOLATION = 'violation';
/** The findings of the grounding check: on the last reply, and on all accepted ones. */
export const MARKS = 'marks';
export const VIOLATIONS = 'violations';
/** The answers of people in this run: `[{ turn, text }]`. */
export const USER_ANSWERS = 'user_answers';
/** A remark of a person counts as an answer of a person. */
export const REMARKED: Write = append(USER_ANSWERS, { turn: TURN, text: 'it.text' });
/** The problem of this round: its kind, and a sentence. */
export const KIND = 'kind';
export const PROBLEM = 'problem';
/** The kind of problem that the loop cannot repair by itself. */
export const TRIGGER = 'trigger';
export const REPAIRS = 'repairs';
/** The value of `REPAIRS` after one more repair. */
export const ONE_MORE_REPAIR = `${REPAIRS} + 1`;
/** Contradicting sources sent the work back. */
export const CROSSED = 'crossed';
/** The answer was judged, and goes back. */
export const JUDGED_AGAIN = 'judged_again';
/** A value without a source sent the answer back. */
export const RETURNED = 'returned';
export const COMPRESSED = 'compressed';
/** The id of the last observation before the talk was dropped. */
export const LAST_DROPPED = 'last_dropped';
/** The number of people's answers before the talk was dropped. */
export const ANSWERS_DROPPED = 'answers_dropped';
export const REVIEWED = 'reviewed';
/** The last answer of a person to a question of the loop. */
export const DECISION = 'decision';
export const FINAL = 'final';
/** Memory of earlier runs. */
export const RECALLED = 'recalled';
export const ENDING = 'ending';
/** The refused answer of a failed run, and the reason of a partial success. */
export const REJECTED = 'rejected';
export const REASON = 'reason';

/** The state of a task as it begins. */
export function initialState(): readonly Write[] {
  const empty = [PLAN, FINISHED, RESULTS, OBSERVATIONS, TALK, USER_ANSWERS, MARKS, VIOLATIONS];
  const zero = [TURN, DRAFTS, REPAIRS, COMPRESSED, ANSWERS_DROPPED];
  const ofRound = [STEP, PLAN_PROBLEM, KIND, PROBLEM, TRIGGER, REVIEWED];
  const ofAnswer = [FINAL, VIOLATION, LAST_DROPPED, ANSWER, REJECTED, REASON];
  return [
    ...empty.map((slot) => set(slot, '[]')),
    ...zero.map((slot) => set(slot, '0')),
    ...[...ofRound, ...ofAnswer].map((slot) => set(slot, 'null')),
    set(CROSSED, 'false'),
    set(JUDGED_AGAIN, 'false'),
    set(RETURNED, 'false'),
    set(SINCE, '1'),
    set(TASK, '{"version": 1, "finished": 0}'),
  ];
}

/** The kind of state of each slot. Text by a model is a note until it was checked. */
export const STORES: NonNullable<View['stores']> = {
  ...kept('scratchpad', 'talk reply parsed_reply draft _verdict_reply _verdict_scripted safer'),
  ...kept('task', 'goal plan step finished results task answer final budget doubts user_answers violations rejected'),
  ...kept('observations', 'observations'),
};

function kept(store: 'scratchpad' | 'task' | 'observations', slots: string): NonNullable<View['stores']> {
  return Object.fromEntries(slots.split(' ').map((slot) => [slot, store]));
}

/** The phases of the control loop, in order. Each is a node of that name. */
export const PHASES = [
  'goal_intake',
  'scope_resolution',
  'policy_check',
  'state_init',
  'plan_selection',
  'budget_assign',
  'tool_eligibility',
  'action_selection',
  'tool_invocation',
  'observation_grounding',
  'state_update',
  'validation_check',
  'reflection_trigger',
  'termination_check',
  'escalation_check',
  'final_response',
  'memory_write',
  'trace_logging',
] as const;
export type Phase = (typeof PHASES)[number];
