/** The sections that say how far: `budgets`, `boundary`, `protections`, `policies` and `pii`. */
import { PHONE_REGIONS, PII_TYPES } from '../../../catalog/pii.ts';
import * as z from 'zod';
import { FAILING_CODES } from '../../../ir/codes.ts';
import { EFFECT_CLASSES } from '../../../ir/effect-classes.ts';
import { BUDGET_ROWS, type BudgetKey } from '../../../ir/dimensions.ts';
import { bool, fault, int, list, map, name, number, oneOf, record, text } from '../shape/fields.ts';

/** Decisions that a model may make by itself within a turn. */
export const DECISIONS = ['tools', 'arguments', 'repair', 'clarify', 'plan', 'escalate'] as const;

const amount = () => int({ min: 0 }).optional();

/** Whole numbers, but for money. */
const amounts = () =>
  Object.fromEntries(
    BUDGET_ROWS.map(({ key, scale }) => [key, scale === 1 ? amount() : number({ min: 0 }).optional()]),
  ) as { readonly [key in BudgetKey]: ReturnType<typeof amount> };

export const budgets = record(() => ({
  ...amounts(),
  wall_clock_seconds: number({ min: 0 }).optional(),
})).describe('The most that a run may use, per dimension. Zero forbids every call that needs it.');

export const PROFILES = ['research', 'coding', 'support', 'procurement', 'sre'] as const;

const names = () => list(name()).optional();
const consequence = () => oneOf(['tell', 'ask', 'fail']).optional();

const boundaryFields = record(() => ({
  profile: oneOf(PROFILES).optional(),
  version: name().optional(),
  observations: names().describe('What may be read.'),
  state_writes: names().describe('What may be written to the state of the run.'),
  tools: record({ allow: names(), approve: names(), deny: names() }).optional(),
  decisions: list(oneOf(DECISIONS)).optional().describe('What the model may decide by itself.'),
  approve_effects: list(oneOf(EFFECT_CLASSES))
    .optional()
    .describe('Classes of effects that need approval unless a tool is allowed by name.'),
  untrusted: oneOf(['ask', 'deny', 'off'])
    .optional()
    .describe('What follows where arguments come from an untrusted source.'),
  untrusted_input: z
    .union([bool(), list(name())])
    .optional()
    .describe('Others wrote the input, or these fields of it: it does not vouch for arguments.'),
  budget: budgets.optional(),
  escalation: record({
    unregistered: consequence(),
    malformed: consequence(),
    denied: consequence(),
    rate: consequence(),
    rejected: consequence(),
    unverified: consequence(),
    ungrounded: consequence(),
  })
    .optional()
    .describe('What each kind of refusal leads to.'),
  fail_closed: list(record({ what: name(), when: name(), code: oneOf(FAILING_CODES).default('UNSAFE_DETECTION') }))
    .optional()
    .describe(
      'Conditions over `tool`, `args`, `effect`, `category`, `approval`, `observations` and `input` that end the run before the call.',
    ),
  approval_timeout: number({ above: 0 })
    .optional()
    .describe('Seconds after which an unanswered approval counts as rejected.'),
}));

export const boundary = z.union([
  oneOf(PROFILES).transform((profile): BoundaryFields => ({ profile })),
  boundaryFields,
]);

/** Cedar policies by id: the text itself, or the file that holds it. */
export const policies = map(z.union([name().transform((inline) => ({ text: inline })), record(() => ({ file: name() }))]));

export const pii = record(() => ({
  mode: oneOf(['tokenize', 'block', 'off'])
    .optional()
    .describe('`tokenize` replaces personal data by tokens, `block` refuses it, `off` does nothing. Default: tokenize.'),
  types: list(oneOf(PII_TYPES)).optional().describe('Kinds of personal data to look for. Default: all.'),
  names: bool().optional().describe('Also look for names of people. Default: false.'),
  trusted: list(name()).optional().describe('Tools and agents that receive the original values.'),
  custom: list(
    record({
      name: name(),
      pattern: name().describe('A regular expression without lookaround and backreferences.'),
      check: oneOf(['luhn', 'iban']).optional().describe('A checksum that a match must pass.'),
    }),
  )
    .optional()
    .describe('Kinds of your own.'),
  regions: list(oneOf(PHONE_REGIONS))
    .optional()
    .describe('Countries whose phone numbers are found without a word near them, such as `TR`. Default: none.'),
  attachments: bool()
    .optional()
    .describe('True: images and files may be used, although personal data in them cannot be found. Default: false.'),
  key_file: name().optional().describe('The file with the key: 32 bytes in base64.'),
  service: record({ url: name(), language: text().optional() })
    .optional()
    .describe('A Presidio analyzer that is asked in addition.'),
}));

export const retain = record(() => ({
  runs: int({ min: 0 }).optional().describe('Keep so many of the newest runs of this flow, for each tenant.'),
  days: number({ above: 0 }).optional().describe('Keep runs so long after their end.'),
  export: name().optional().describe('A folder: each run is exported there before it is removed.'),
})).describe('When ended runs of this flow are removed. Without it they are kept.');

export const version = z.literal(1, {
  error: fault(
    'bad-version',
    'this release reads version 1 of the notation and no other',
    'Write `sluice: 1`, or leave the key out.',
  ),
});

export type Budgets = z.output<typeof budgets>;
export type BoundaryFields = z.output<typeof boundaryFields>;
export type Boundary = z.output<typeof boundary>;
