/** The section `protections`: limits on runaway behaviour that hold in every notation. `false` switches one off. */
import * as z from 'zod';
import { DEFAULT_RETRY_BUDGET, FAILURE_KINDS, TIERS } from '@sluice-internal/kernel/ir';
import type { FailureKind } from '@sluice-internal/kernel/ir';
import { bool, int, list, map, name, number, once, oneOf, record, text } from '../shape/fields.ts';

const seconds = () => number({ above: 0 });
const count = () => int({ min: 1 });
/** `false` switches the protection off. */
function switchable<Schema extends z.ZodType>(schema: Schema) {
  return z.union([z.literal(false), schema]).optional();
}

const loop = record(() => ({
  window: int({ min: 1, max: 64 }).optional().describe('How many of the latest calls are compared. Default: 5.'),
  identical: int({ min: 2 })
    .optional()
    .describe('How many identical calls among them are too many: the last one is not made. Default: 3.'),
  cycle: int({ min: 1, max: 16 }).optional().describe('The longest block of calls that may not repeat. Default: 4.'),
  failures: count()
    .optional()
    .describe('After this many failures of one tool in a row, its next call is not made. Default: 4.'),
  same_failure: int({ min: 2 })
    .optional()
    .describe('After this many failures of one call in a row with the same error, the agent is warned. Default: 2.'),
  rephrased: bool()
    .optional()
    .describe('True: a read with the words of a recent call in another order is refused once. Default: true.'),
  ignore: list(name()).optional().describe('Arguments that are not compared, such as a request id.'),
  on_trip: oneOf(['correct', 'end', 'escalate'])
    .optional()
    .describe('The action at the second trip of a turn. The first one always corrects the agent.'),
}));

const otherModel = record(() => ({ model: name().describe('The model that is called instead.') }));
const fallback = () =>
  z.union([
    otherModel,
    record(() => ({ answer: text().describe('The reply that is used instead of a call.') })),
    record(() => ({ escalate: z.literal(true).describe('A person decides.') })),
  ]);

const share = () => number({ above: 0, max: 1 });
const rate = record(() => ({
  errors: share()
    .optional()
    .describe('Share of calls that fail: connection errors, timeouts, 429 and 5xx. Default: 0.5.'),
  soft: share()
    .optional()
    .describe('Share of replies that are not usable: schema, invariants, identical calls. Default: 0.5.'),
  calls: count().optional().describe('The least number of calls for a share. Default: 20.'),
  window: seconds().optional().describe('Seconds in which calls count. Default: 60.'),
}));

const breaker = record(() => ({
  identical_calls: int({ min: 2 })
    .optional()
    .describe('Identical tool calls in a row that open the breaker. Default: 3.'),
  schema_failures: count()
    .optional()
    .describe('Replies in a row that do not fit their schema and open it. Default: 2.'),
  provider_errors: count()
    .optional()
    .describe('Failed calls in a row that open it: connection errors, timeouts, 429 and 5xx. Default: 5.'),
  rate: switchable(rate).describe('The share of failed calls in a window of time that opens the breaker.'),
  cooldown: seconds()
    .optional()
    .describe('Seconds until one call may probe whether the model works again. Default: 30.'),
  max_trips: count()
    .optional()
    .describe('From this many trips in a row on, the cooldown doubles with each trip, up to an hour. Default: 3.'),
  fallback: fallback().optional().describe('While the breaker is open: another model, a fixed answer, or a person.'),
}));

const velocityLimits = once(() => ({
  usd_per_hour: number({ above: 0 }).optional().describe('US dollars in the last hour.'),
  tokens_per_minute: number({ above: 0 }).optional().describe('Tokens in the last minute.'),
}));
const velocity = record(() => ({
  ...velocityLimits(),
  agents: map(record(velocityLimits)).optional().describe('Limits of single agents, by id, besides those of the run.'),
  on_trip: oneOf(['cheaper', 'escalate', 'stop'])
    .optional()
    .describe('`cheaper` calls the model of `fallback`, `escalate` asks a person, `stop` ends the run.'),
  fallback: otherModel.optional().describe('The model for `cheaper`.'),
}));

const cell = record(() => ({
  retries: int({ min: 0, max: 10 }).optional().describe('How often the stage is tried again.'),
  replans: int({ min: 0, max: 10 }).optional().describe('How often a new plan is made after the retries.'),
  then: oneOf(['escalate', 'abort', 'surface', 'fallback']).optional().describe('The last action.'),
})).describe('The actions after this kind of failure. A key that is left out stays as in the table.');

const onFailure = record(
  () =>
    Object.fromEntries(FAILURE_KINDS.map((kind) => [kind, cell.optional()])) as {
      [kind in FailureKind]: z.ZodOptional<typeof cell>;
    },
).describe('Changes of the failure decision table, by kind of failure.');

export const protections = record(() => ({
  tier: oneOf(TIERS).optional().describe('The column of the failure decision table. Default: `batch`.'),
  hops: switchable(count()).describe('The longest chain of handoffs from agent to agent.'),
  depth: switchable(count()).describe('The deepest nesting of teams and sub-flows.'),
  spawn: switchable(
    record(() => ({ max: count().optional().describe('The most tasks or agents in a run. Default: 20.') })),
  ).describe('How many tasks or agents models may start in a run.'),
  loop: switchable(loop).describe('The loop detector: calls that repeat without a new result are not made.'),
  breaker: switchable(breaker).describe('The circuit breaker of each agent and model, shared by all runs.'),
  retry_budget: switchable(
    record(() => ({
      share: number({ min: 0, max: 1 })
        .optional()
        .describe(`Retries per call, from 0 to 1. Default: ${DEFAULT_RETRY_BUDGET.share}.`),
      burst: int({ min: 0 })
        .optional()
        .describe(`Retries that are available at once. Default: ${DEFAULT_RETRY_BUDGET.burst}.`),
    })),
  ).describe('The retry budget: retries per call, and retries that are available at once.'),
  velocity: switchable(velocity).describe('The most that a run may spend in an hour or a minute.'),
  deadlock: switchable(
    record(() => ({
      cycle: int({ min: 1, max: 16 }).optional().describe('The longest cycle of turns that is detected. Default: 3.'),
      on_trip: oneOf(['escalate', 'end']).optional().describe('`escalate` asks a person, `end` ends the run.'),
    })),
  ).describe('The deadlock monitor: agents that hand the same thing back and forth.'),
  on_failure: onFailure.optional(),
})).describe('Protections against runaway behaviour. `false` switches one off.');

export type RawProtections = z.output<typeof protections>;
export type RawLoop = z.output<typeof loop>;
export type RawVelocity = z.output<typeof velocity>;
