/** The notation for one bounded agent, or for a planner and an executor, in one definition that also serves editors. */
import type * as z from 'zod';
import { bool, int, list, name, number, oneOf, record, text } from '../../document/shape/fields.ts';
import { ON_VIOLATIONS, VALUES } from '../../lower/agent-turn/grounding.ts';
import { PROFILES } from '../../document/schema/bounds.ts';

const reason = () => text({ min: 1 }).describe('What is told to whoever has to mend it.');
const when = (names: string) => name().describe(`An expression over ${names}.`);

const plan = record({
  max_steps: int({ min: 1, max: 100 }).optional().describe('How many steps a plan may have; 12 unless told.'),
  repairs: int({ min: 0, max: 2 }).optional().describe('How often a plan may be mended; 2 unless told.'),
  approve: bool().optional().describe('Whether a person agrees to the plan before anything runs.'),
});

const reflection = record({
  repairs: int({ min: 0, max: 2 })
    .optional()
    .describe('How often in a row a failure is given back to the agent; 2 unless told.'),
  confidence: int({ min: 0, max: 1 })
    .optional()
    .describe('Passes after a result of too little confidence; 1 unless told.'),
  conflict: int({ min: 0, max: 1 })
    .optional()
    .describe('Passes after sources that contradict each other; 1 unless told.'),
});

const grounding = record({
  cite: oneOf(['optional', 'required']).optional().describe('Whether an answer must cite observations by their ids.'),
  claims: bool()
    .optional()
    .describe('Whether words that claim an action need an observation of one; true unless told.'),
  values: oneOf(VALUES)
    .optional()
    .describe(
      'What an answer may state only if it was observed or given: `names` (identifiers, dates, amounts; unless told), `all`, or nothing.',
    ),
  on_violation: oneOf(ON_VIOLATIONS)
    .optional()
    .describe('What follows from a violation; by the profile and the gravest effect of a tool unless told.'),
});

const escalation = record({
  people: bool()
    .optional()
    .describe(
      'Whether somebody can be asked; otherwise a run ends where it would ask, be it about a call. True unless told.',
    ),
  timeout: number({ above: 0 }).optional().describe('Seconds that a question waits; it waits for ever unless told.'),
  safer: name()
    .optional()
    .describe('The agent that looks again at a result of too little confidence, before a person does.'),
  expansions: int({ min: 0, max: 10 })
    .optional()
    .describe('How often a person may be asked for more budget; 0 unless told.'),
});

export const loopSchema = record({
  id: name().optional(),
  description: text().optional(),
  agent: name().optional().describe('The agent that does the work.'),
  planner: name().optional().describe('The agent that makes the plan.'),
  executor: name().optional().describe('The agent that carries the plan out, step by step.'),
  goal: text({ min: 1 }).optional().describe('What is to be reached; the input of the run unless told.'),
  criteria: list(text({ min: 1 }))
    .optional()
    .describe('What the result must satisfy, in words.'),
  profile: oneOf(PROFILES)
    .optional()
    .describe('The boundary and the budgets that hold where `boundary` and `budgets` say nothing.'),
  requires: list(name()).optional().describe('Fields that the input must have.'),
  intents: list(record({ id: name(), when: when('`goal`'), description: text().optional() }), { min: 2 })
    .optional()
    .describe('Readings of a goal; where several hold, somebody is asked which is meant.'),
  guards: list(
    record({
      when: when('`goal`'),
      code: oneOf(['UNSAFE_DETECTION', 'PERMISSION_DENIED', 'IMPOSSIBLE']).optional(),
      reason: reason(),
    }),
  )
    .optional()
    .describe('Goals that are turned away before anything is done.'),
  plan: plan.optional(),
  validate: list(record({ when: when('`answer`, `goal` and `observations`'), reason: reason() }))
    .optional()
    .describe('What must hold of an answer.'),
  verifier: name().optional().describe('The agent that judges an answer before it is given.'),
  confidence: number({ min: 0, max: 1 }).optional().describe('The least confidence that an answer may have.'),
  conflict: when('`answer`, `goal` and `observations`')
    .optional()
    .describe('Holds where what was observed contradicts itself.'),
  review: bool().optional().describe('Whether a person looks at every answer before it is given.'),
  reflection: reflection.optional(),
  grounding: grounding.optional(),
  compression: record({ at: number({ above: 0, max: 1 }).optional(), window: int({ min: 100 }).optional() })
    .optional()
    .describe('When what was said is put together: the part of the window, 0.8 unless told, and the window in tokens.'),
  escalation: escalation.optional(),
  breaker: record({ identical: int({ min: 2 }).optional(), window: int({ min: 2, max: 64 }).optional() })
    .optional()
    .describe('The same call is stopped when it comes that often among the latest: the third among 5 unless told.'),
  memory: bool().optional().describe('Whether what was verified may be remembered after the run.'),
  rates: record({
    tool_call: number({ min: 0 }).optional(),
    external_call: number({ min: 0 }).optional(),
    review: number({ min: 0 }).optional(),
  })
    .optional()
    .describe('US dollars that a report counts for each.'),
});

export const LOOP_KEYS: readonly string[] = Object.keys(loopSchema.shape);

export type RawLoop = z.output<typeof loopSchema>;
