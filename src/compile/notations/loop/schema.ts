/** The schema of `loop`: one bounded agent, or a planner and an executor. Editors use it too. */
import * as z from 'zod';
import { agentName, bool, int, list, name, number, oneOf, record, text } from '../../document/shape/fields.ts';
import { ON_VIOLATIONS, VALUES } from '../../lower/agent-turn/grounding.ts';
import { memory } from '../../document/schema/agents.ts';
import { PROFILES } from '../../document/schema/bounds.ts';

const reason = () =>
  text({ min: 1 }).describe('The problem, as a sentence for the agent or the person who corrects it.');
const when = (names: string) => name().describe(`An expression over ${names}.`);

const plan = record(() => ({
  max_steps: int({ min: 1, max: 100 }).optional().describe('Steps of a plan at most; default 12.'),
  repairs: int({ min: 0, max: 2 }).optional().describe('Repairs of an invalid plan at most; default 2.'),
  approve: bool().optional().describe('True if a person must approve the plan before anything runs.'),
}));

const reflection = record(() => ({
  repairs: int({ min: 0, max: 2 }).optional().describe('Failures in a row that go back to the agent; default 2.'),
  confidence: int({ min: 0, max: 1 })
    .optional()
    .describe('Reflections after a result with too low confidence; default 1.'),
  conflict: int({ min: 0, max: 1 }).optional().describe('Reflections after contradicting sources; default 1.'),
}));

const grounding = record(() => ({
  cite: oneOf(['optional', 'required']).optional().describe('`required` if an answer must cite observations by id.'),
  claims: bool().optional().describe('True if a claimed action needs an observation of it; default true.'),
  values: oneOf(VALUES)
    .optional()
    .describe(
      'Values that must occur in an observation or in the input: `names` (identifiers, dates, amounts; the default), `all`, or `off`.',
    ),
  on_violation: oneOf(ON_VIOLATIONS)
    .optional()
    .describe(
      '`mark` (the default) lets the answer pass with its violations in the report; `repair`, `escalate` and `halt` do not. Agents whose tools have grave effects repair, then escalate.',
    ),
}));

const escalation = record(() => ({
  people: bool()
    .optional()
    .describe('False if no person can be asked: the run then ends where it would ask. Default true.'),
  timeout: number({ above: 0 }).optional().describe('Seconds until a question expires; by default it does not.'),
  safer: agentName()
    .optional()
    .describe('The agent that judges a result with too low confidence before a person does.'),
  expansions: int({ min: 0, max: 10 }).optional().describe('Questions for more budget at most; default 0.'),
}));

const guard = record(() => ({
  when: when('`goal`'),
  code: oneOf(['UNSAFE_DETECTION', 'PERMISSION_DENIED', 'IMPOSSIBLE']).optional(),
  reason: reason(),
}));

export const loopSchema = record(() => ({
  id: name().optional(),
  description: text().optional(),
  agent: agentName().optional().describe('The agent that does the work.'),
  planner: agentName().optional().describe('The agent that makes the plan.'),
  executor: agentName().optional().describe('The agent that executes the plan, step by step.'),
  goal: text({ min: 1 })
    .optional()
    .describe('The goal; by default the input of the run. `{{input.order}}` in it is filled in.'),
  criteria: list(
    z.union([
      text({ min: 1 }),
      record({ when: when('`answer`, `goal`, `input`, `observations` and `receipts`'), reason: reason() }),
    ]),
  )
    .optional()
    .describe('Conditions for success: expressions over the evidence, or texts that the verifier judges.'),
  profile: oneOf(PROFILES).optional().describe('Defaults for `boundary` and `budgets`.'),
  requires: list(name()).optional().describe('Fields that the input must have.'),
  intents: list(record({ id: name(), when: when('`goal`'), description: text().optional() }), { min: 2 })
    .optional()
    .describe('Possible meanings of a goal. If several match, a person chooses.'),
  guards: list(guard).optional().describe('Goals that are rejected before anything is done.'),
  plan: plan.optional(),
  validate: list(record({ when: when('`answer`, `goal` and `observations`'), reason: reason() }))
    .optional()
    .describe('Conditions on an answer.'),
  verifier: agentName()
    .optional()
    .describe('The agent that judges an answer, with the observations, before it is given.'),
  confidence: number({ min: 0, max: 1 }).optional().describe('The least confidence of an answer.'),
  conflict: when('`answer`, `goal` and `observations`')
    .optional()
    .describe('True if the observations contradict each other.'),
  review: bool().optional().describe('True if a person reviews every answer.'),
  reflection: reflection.optional(),
  grounding: grounding.optional(),
  compression: record({ at: number({ above: 0, max: 1 }).optional(), window: int({ min: 100 }).optional() })
    .optional()
    .describe('The part of the context window that triggers compression (default 0.8), and the window in tokens.'),
  escalation: escalation.optional(),
  breaker: record({ identical: int({ min: 2 }).optional(), window: int({ min: 2, max: 64 }).optional() })
    .optional()
    .describe('Blocks a call that would be the `identical`-th equal one among the last `window`: default 3 of 5.'),
  memory: memory(),
  rates: record({
    tool_call: number({ min: 0 }).optional(),
    external_call: number({ min: 0 }).optional(),
    review: number({ min: 0 }).optional(),
  })
    .optional()
    .describe('US dollars that a report adds per call or review.'),
}));

export type RawLoop = z.output<typeof loopSchema>;
