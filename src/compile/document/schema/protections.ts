/** The section `protections`: limits on runaway behaviour that hold in every notation. `false` switches one off. */
import * as z from 'zod';
import { bool, int, list, name, number, oneOf, record, text } from '../shape/fields.ts';

const seconds = () => number({ above: 0 });
const count = () => int({ min: 1 });
/** `false` switches the protection off. */
function switchable<Schema extends z.ZodType>(schema: Schema) {
  return z.union([z.literal(false), schema]).optional();
}

const loop = record({
  window: int({ min: 1, max: 64 }).optional().describe('How many of the latest calls are compared.'),
  identical: int({ min: 2 }).optional().describe('The identical call of this number is held back.'),
  cycle: int({ min: 1, max: 16 }).optional().describe('The longest block of calls that may not repeat.'),
  failures: count().optional().describe('This many failures of one tool in a row hold back its next call.'),
  ignore: list(name()).optional().describe('Arguments that are not compared, such as a request id.'),
  on_trip: oneOf(['correct', 'end', 'escalate'])
    .optional()
    .describe('What the second trip of a turn does. The first one always corrects the agent.'),
});

const breaker = record({
  identical_calls: int({ min: 2 }).optional(),
  schema_failures: count().optional(),
  provider_errors: count().optional(),
  cooldown: seconds().optional(),
  max_trips: count().optional(),
  fallback: z.union([record({ model: name() }), record({ answer: text() }), record({ escalate: bool() })]).optional(),
});

export const protections = record({
  hops: switchable(count()),
  depth: switchable(count()),
  spawn: switchable(record({ max: count().optional() })),
  loop: switchable(loop).describe('The loop detector: calls that repeat without a new result are held back.'),
  breaker: switchable(breaker),
  retry_budget: switchable(record({ share: number({ min: 0, max: 1 }).optional(), burst: int({ min: 0 }).optional() })),
  velocity: switchable(
    record({
      usd_per_hour: number({ above: 0 }).optional(),
      tokens_per_minute: number({ above: 0 }).optional(),
      on_trip: oneOf(['cheaper', 'escalate', 'stop']).optional(),
      fallback: record({ model: name() }).optional(),
    }),
  ),
  deadlock: switchable(
    record({ cycle: int({ min: 2 }).optional(), on_trip: oneOf(['escalate', 'end']).optional() }),
  ),
}).describe('Protections against runaway behaviour. `false` switches one off.');

export type RawProtections = z.output<typeof protections>;
