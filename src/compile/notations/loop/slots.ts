/**
 * Where a loop keeps what it knows. `goal`, `plan`, `finished`, `results`, `task` and `observations` are the state of the
 * task: the system writes them, the model only reads them. `talk` and `scratch` are notes of one step and are dropped with
 * it. What gates and routes read is never taken from `talk`.
 */
import type { Expr, Write } from '../../../ir/nodes.ts';

export const GOAL = 'goal';
export const LACKING = 'lacking';
export const INTENT = 'intent';
export const SCOPE = 'scope';
export const BUDGET = 'budget';
export const PLAN = 'plan';
export const PLAN_PROBLEM = 'plan_problem';
/** How often a plan was made. */
export const DRAFTS = 'drafts';
export const STEP = 'step';
export const FINISHED = 'finished';
export const RESULTS = 'results';
export const TASK = 'task';
export const TURN = 'turn';
/** The last reply as data where it is a JSON object, as text otherwise. */
export const SAID = 'said';
export const STATUS = 'status';
export const ANSWER = 'answer';
/** The ids of this round's observations that are no success. */
export const MISSED = 'missed';
export const VIOLATION = 'violation';
/** What is wrong with the last verdict. */
export const UNFOUNDED = 'unfounded';
/** What people said in this run, and in which turn. */
export const TOLD = 'told';
/** Sentences that claimed something, and rightly. */
export const CLAIMED = 'claimed';
/** What is wrong with this round, in one word and in a sentence. */
export const KIND = 'kind';
export const PROBLEM = 'problem';
export const SCORE = 'score';
/** What the loop cannot mend by itself. */
export const TRIGGER = 'trigger';
export const REPAIRS = 'repairs';
export const DOUBTS = 'doubts';
export const CROSSED = 'crossed';
export const SCRATCH = 'scratch';
export const COMPRESSED = 'compressed';
export const REVIEWED = 'reviewed';
export const HEARD = 'heard';
export const FINAL = 'final';
/** What the agent remembers of earlier runs. */
export const RECALLED = 'recalled';
export const ENDING = 'ending';

/** Which slot is which kind of state; whatever a model says is a note until it was judged. */
export const STORES = {
  talk: 'scratchpad',
  reply: 'scratchpad',
  said: 'scratchpad',
  draft: 'scratchpad',
  scratch: 'scratchpad',
  verdict: 'scratchpad',
  safer: 'scratchpad',
  goal: 'task',
  plan: 'task',
  step: 'task',
  finished: 'task',
  results: 'task',
  task: 'task',
  answer: 'task',
  final: 'task',
  budget: 'task',
  doubts: 'task',
  told: 'task',
  claimed: 'task',
  observations: 'observations',
} as const;

export function set(slot: string, value: Expr): Write {
  return { slot, mode: 'set', value };
}

export function append(slot: string, value: Write['value']): Write {
  return { slot, mode: 'append', value };
}
