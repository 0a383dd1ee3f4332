/** The schema of `loop`: one bounded agent, or a planner and an executor. Editors use it too. */
import * as z from 'zod';
import {
  ANSWER_NAMES,
  agentName,
  bool,
  int,
  list,
  memory,
  name,
  number,
  oneOf,
  record,
  text,
  verifierField,
} from '@sluice-internal/compile/document';
import { ON_VIOLATIONS, VALUES } from '@sluice-internal/compile/lower';
import { quoted } from '@sluice-internal/compile/source';

const reason = () =>
  text({ min: 1 }).describe('The problem, as a sentence for the agent or the person who corrects it.');
/** The names that conditions on a goal read. */
export const GOAL_NAMES = ['goal', 'input'];
const when = (names: readonly string[]) => name().describe(`An expression over ${quoted(names)}.`);

/** The ends of a criterion that stays false. */
const CRITERION_CODES = ['VALIDATION_FAIL', 'SOURCE_CONFLICT'] as const;

const plan = record(() => ({
  max_steps: int({ min: 1, max: 100 }).optional().describe('The most steps of a plan. Default: 12.'),
  repairs: int({ min: 0, max: 2 })
    .optional()
    .describe('How often an invalid plan goes back to the planner. Default: 2.'),
  approve: bool().optional().describe('True if a person must approve the plan before anything runs.'),
}));

const grounding = record(() => ({
  cite: oneOf(['optional', 'required'])
    .optional()
    .describe('`required`: an answer must cite observations by id. Default: `optional`.'),
  values: oneOf(VALUES)
    .optional()
    .describe(
      'Values that must be in an observation or in the input: `names` (identifiers, dates, amounts; the default), `all`, or `off`. `bound`: values must be references such as `{{obs.1.total}}`.',
    ),
  on_violation: oneOf(ON_VIOLATIONS)
    .optional()
    .describe(
      '`mark` returns the answer to the agent once; if the value stays, the verifier is told. `repair` returns it while `budgets.reflections` has room, `escalate` asks a person, `halt` ends the run. Default: that of the boundary, else `mark`.',
    ),
}));

const escalation = record(() => ({
  timeout: number({ above: 0 }).optional().describe('Seconds until a question expires. Default: no limit.'),
  safer: agentName()
    .optional()
    .describe('The agent that judges a result with too low confidence before a person does.'),
  expansions: int({ min: 0, max: 10 })
    .optional()
    .describe('How often a person may be asked for more budget. Default: 0.'),
}));

const compression = record(() => ({
  at: number({ above: 0, max: 1 }).optional().describe('The share of the window, from 0 to 1. Default: 0.8.'),
  window: int({ min: 100 }).optional().describe('The window in tokens. Default: that of the model.'),
}));

const breaker = record(() => ({
  identical: int({ min: 2 }).optional().describe('How many identical calls are too many. Default: 3.'),
  window: int({ min: 2, max: 64 }).optional().describe('How many of the latest calls are compared. Default: 5.'),
}));

const intent = record(() => ({
  id: name().describe('The name of the meaning.'),
  when: when(GOAL_NAMES),
  description: text().optional().describe('The meaning, as the person reads it.'),
}));

const guard = record(() => ({
  when: when(GOAL_NAMES),
  code: oneOf(['UNSAFE_DETECTION', 'PERMISSION_DENIED', 'IMPOSSIBLE'])
    .optional()
    .describe('The code that the run ends with. Default: UNSAFE_DETECTION.'),
  reason: reason(),
}));

export const loopSchema = record(() => ({
  id: name().optional().describe('The name of the loop in reports. Default: `loop`.'),
  description: text().optional().describe('A note for readers.'),
  agent: agentName().optional().describe('The agent that does the work.'),
  planner: agentName().optional().describe('The agent that makes the plan.'),
  executor: agentName().optional().describe('The agent that executes the plan, step by step.'),
  goal: text({ min: 1 })
    .optional()
    .describe('The goal. `{{input.order}}` in it is filled in. Default: the input of the run.'),
  criteria: list(
    z.union([
      text({ min: 1 }),
      record({
        when: when(ANSWER_NAMES),
        reason: reason(),
        code: oneOf(CRITERION_CODES)
          .optional()
          .describe('The code of the end, if it stays false. Default: VALIDATION_FAIL.'),
      }),
    ]),
  )
    .optional()
    .describe('Conditions for success: expressions over the evidence, or texts that the verifier judges.'),
  requires: list(name()).optional().describe('Fields that the input must have.'),
  intents: list(intent, { min: 2 })
    .optional()
    .describe('Possible meanings of a goal. If several match, a person chooses.'),
  guards: list(guard).optional().describe('Goals that are rejected before anything is done.'),
  plan: plan.optional().describe('Limits of the plan, with a planner.'),
  verifier: verifierField().describe(
    'The model that judges the answer and sees the evidence. Default: `default`, the engine’s own prompt on the model of the agent, unless all criteria are expressions.',
  ),
  review: bool().optional().describe('True if a person reviews every answer. Default: false.'),
  grounding: grounding.optional().describe('How an answer is compared with the observations.'),
  compression: compression
    .optional()
    .describe('The prompt is compressed when it fills the share `at` of the context window.'),
  escalation: escalation.optional().describe('When and how long people are asked.'),
  breaker: breaker
    .optional()
    .describe('A call is not made if it would be the third identical one among the last five.'),
  memory: memory(),
})).describe('One agent with a goal, tools and limits, or a planner and an executor.');

export type RawLoop = z.output<typeof loopSchema>;
