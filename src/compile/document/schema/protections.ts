/** The section `protections`: limits on runaway behaviour that hold in every notation. `false` switches one off. */
import * as z from 'zod';
import { FAILURE_KINDS, TIERS, type FailureKind } from '../../../ir/protections.ts';
import { bool, int, list, map, name, number, once, oneOf, record, text } from '../shape/fields.ts';

const seconds = () => number({ above: 0 });
const count = () => int({ min: 1 });
/** `false` switches the protection off. */
function switchable<Schema extends z.ZodType>(schema: Schema) {
  return z.union([z.literal(false), schema]).optional();
}

const loop = record(() => ({
  window: int({ min: 1, max: 64 }).optional().describe('How many of the latest calls are compared.'),
  identical: int({ min: 2 }).optional().describe('The identical call of this number is held back.'),
  cycle: int({ min: 1, max: 16 }).optional().describe('The longest block of calls that may not repeat.'),
  failures: count().optional().describe('This many failures of one tool in a row hold back its next call.'),
  same_failure: int({ min: 2 })
    .optional()
    .describe('After this many failures of one call in a row with the same error, the agent is told to change it.'),
  rephrased: bool().optional().describe('A read that asks for the words of a recent call in another order is held back once.'),
  ignore: list(name()).optional().describe('Arguments that are not compared, such as a request id.'),
  on_trip: oneOf(['correct', 'end', 'escalate'])
    .optional()
    .describe('What the second trip of a turn does. The first one always corrects the agent.'),
}));

const fallback = () => z.union([
  record(() => ({ model: name() })),
  record(() => ({ answer: text() })),
  record(() => ({ escalate: z.literal(true) })),
]);

const share = () => number({ above: 0, max: 1 });
const rate = record(() => ({
  errors: share().optional().describe('Share of calls that fail: connection errors, timeouts, 429 and 5xx.'),
  soft: share().optional().describe('Share of replies that are not usable: schema, invariants, identical calls.'),
  calls: count().optional().describe('No share is computed of fewer calls than this.'),
  window: seconds().optional().describe('Seconds in which calls count.'),
}));

const breaker = record(() => ({
  identical_calls: int({ min: 2 }).optional().describe('Identical tool calls in a row that open the breaker.'),
  schema_failures: count().optional().describe('Replies in a row that do not fit their schema.'),
  provider_errors: count().optional().describe('Failed calls in a row: connection errors, timeouts, 429 and 5xx.'),
  rate: switchable(rate).describe('The share of failed calls in a window of time that opens the breaker.'),
  cooldown: seconds().optional().describe('Seconds until one call may probe whether the model works again.'),
  max_trips: count().optional().describe('After this many trips in a row the breaker stays open.'),
  fallback: fallback().optional().describe('While the breaker is open: another model, a fixed answer, or a person.'),
}));

const velocityLimits = once(() => ({
  usd_per_hour: number({ above: 0 }).optional(),
  tokens_per_minute: number({ above: 0 }).optional(),
}));
const velocity = record(() => ({
  ...velocityLimits(),
  agents: map(record(velocityLimits)).optional().describe('Limits of single agents, by id, besides those of the run.'),
  on_trip: oneOf(['cheaper', 'escalate', 'stop'])
    .optional()
    .describe('`cheaper` calls the model of `fallback`, `escalate` asks a person, `stop` ends the run.'),
  fallback: record(() => ({ model: name() })).optional(),
}));

const cell = record(() => ({
  retries: int({ min: 0, max: 10 }).optional(),
  replans: int({ min: 0, max: 10 }).optional(),
  then: oneOf(['escalate', 'abort', 'surface', 'fallback']).optional(),
}));

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
  spawn: switchable(record(() => ({ max: count().optional() }))).describe('How many tasks or agents models may start in a run.'),
  loop: switchable(loop).describe('The loop detector: calls that repeat without a new result are held back.'),
  breaker: switchable(breaker).describe('The circuit breaker of each agent and model, shared by all runs.'),
  retry_budget: switchable(
    record(() => ({ share: number({ min: 0, max: 1 }).optional(), burst: int({ min: 0 }).optional() })),
  ).describe('The retry budget: retries per call, and retries that are available at once.'),
  velocity: switchable(velocity).describe('The most that a run may spend in a stretch of time.'),
  deadlock: switchable(
    record(() => ({ cycle: int({ min: 1, max: 16 }).optional(), on_trip: oneOf(['escalate', 'end']).optional() })),
  ).describe('The deadlock monitor: agents that hand the same thing back and forth.'),
  on_failure: onFailure.optional(),
})).describe('Protections against runaway behaviour. `false` switches one off.');

export type RawProtections = z.output<typeof protections>;
