/** The slots of a staged run, and expressions over them that several stages share. */
import type { Expr } from '@sluice-internal/kernel/ir';

/** The task: the input of the run, or the brief of a team. */
export const REQUEST = 'request';
/** Number of plans made. */
export const ROUND = 'round';
/** The tasks and results of refused rounds, as texts. */
export const ROUNDS = 'rounds';
export const PLAN = 'plan';
/** The critic's verdict on the plan: `{ ok, problem }`. Null without a critic, and for a plan that a person edited. */
export const CRITIQUE = 'critique';
export const TASKS = 'tasks';
/** The current task of a worker: `{ id, brief, worker? }`. */
export const TASK = 'task';
export const TASK_ID = 'task_id';
export const SUMMARY = 'summary';
/** `[{ id, summary }]`, in the order of the tasks. */
export const SUMMARIES = 'summaries';
/** Tasks without a result: `[{ id, problem }]`. */
export const LOST = 'lost';
/** The one result of work that has one: a judge's verdict, the last handoff, the board. */
export const RESULT = 'result';
/** The peer that has the task. */
export const PEER = 'peer';
export const AGGREGATE = 'aggregate';
export const VERDICT = 'verdict';
export const OUTPUT = 'output';
/** The reason for another plan or another try, in words for the agent. */
export const FEEDBACK = 'feedback';
/** The plan that a new one replaces. */
export const LAST_PLAN = 'last_plan';
/** True if tasks were lost, or if an output was replaced by its safe fallback. */
export const PARTIAL = 'partial';
/** The last result of a gate: `{ stage, gate, check, ok, reason }`. */
export const VALIDATION = 'validation';
/** The answer of a person to an escalation. */
export const DECISION = 'decision';
/** The refused result of a failed run. */
export const REJECTED = 'rejected';
/** Outcomes of the branch of a stage, and of the workers. */
export const OUTCOME = '_stage';
export const OUTCOMES = '_workers';
/** The last check of a gate. */
export const CHECKED = '_gate';
/** Set by the engine: the budget that had no room. */
export const TRIPPED = 'tripped';
export const TURN = 'turn';
/** In a team: the team and its task, with those of the teams around it, such as `teams/north/t1/`. */
export const PLACE = '_place';

export const REQUEST_TEXT: Expr = `text(${REQUEST})`;
/** The fields of a task that is JSON. */
export const REQUEST_FIELDS: Expr = `(type(${REQUEST}) == map ? ${REQUEST} : jsonIn(text(${REQUEST})))`;
