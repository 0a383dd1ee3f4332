/** The sections with limits: `budgets`, `boundary`, `policies`, `pii` and `retain`. */
import { PHONE_REGIONS, PII_TYPES } from '@sluice-internal/kernel/catalog';
import { BUDGET_ROWS, EFFECT_CLASSES, FAILING_CODES } from '@sluice-internal/kernel/ir';
import type { BudgetKey } from '@sluice-internal/kernel/ir';
import * as z from 'zod';
import { bool, fault, int, list, map, name, number, oneOf, record, text } from '../shape/fields.ts';

/** Decisions that a model may make by itself within a turn. */
export const DECISIONS = ['tools', 'arguments', 'repair', 'clarify', 'plan', 'escalate'] as const;

const amount = () => int({ min: 0 }).optional();

/** Whole numbers, but for money. */
const amounts = () =>
  Object.fromEntries(
    BUDGET_ROWS.map(({ key, scale, many, largest }) => [
      key,
      (scale === 1 ? amount() : number({ min: 0 }).optional()).describe(
        `The most ${many}${largest === undefined ? '' : ' of one request'}. Default: no limit.`,
      ),
    ]),
  ) as { readonly [key in BudgetKey]: ReturnType<typeof amount> };

export const budgets = record(() => ({
  ...amounts(),
  wall_clock_seconds: number({ min: 0 })
    .optional()
    .describe('The most seconds, without the time in which the run only waits for a person. Default: no limit.'),
})).describe('The most that a run may use, per dimension. Zero forbids every call that needs it.');

export const PROFILES = ['research', 'coding', 'support', 'procurement', 'sre'] as const;

const names = () => list(name()).optional();
const consequence = (refusal: string) => oneOf(['tell', 'ask', 'fail']).optional().describe(refusal);

const boundaryFields = record(() => ({
  profile: oneOf(PROFILES)
    .optional()
    .describe('Defaults for a kind of agent. In a loop it also gives the budgets that the document does not set.'),
  version: name().optional().describe('The name of this version in approvals. Default: a hash of the content.'),
  observations: names().describe('Patterns of tools whose results the agent may read.'),
  state_writes: names().describe('Patterns of tools that may write data for later steps and runs.'),
  tools: record({
    allow: names().describe('Patterns of tools that need no approval.'),
    approve: names().describe('Patterns of tools that need approval. They come before `allow`.'),
    deny: names().describe('Patterns of tools that are not called. They come before `approve`.'),
  })
    .optional()
    .describe('The tools that an agent may call: alone, with approval, or not at all.'),
  decisions: list(oneOf(DECISIONS)).optional().describe('Decisions that the model may make by itself. Default: all.'),
  approve_effects: list(oneOf(EFFECT_CLASSES))
    .optional()
    .describe('Classes of effects that need approval unless a tool is allowed by name.'),
  untrusted: oneOf(['ask', 'deny', 'off'])
    .optional()
    .describe(
      'For arguments that come from an untrusted source: ask a person, deny the call, or `off`. Default: `ask`.',
    ),
  untrusted_input: z
    .union([bool(), list(name())])
    .optional()
    .describe('True, or fields of the input: other people wrote it, so its values are untrusted arguments.'),
  escalation: record({
    people: bool()
      .optional()
      .describe('False: no person is asked about the work of agents, and it ends where one would be. Default: true.'),
    unregistered: consequence('The agent does not have the tool.'),
    malformed: consequence('The arguments do not fit the schema of the tool.'),
    denied: consequence('The boundary or a policy denies the call.'),
    rate: consequence('The rate limit of the tool is reached.'),
    rejected: consequence('A person rejected the call.'),
    unverified: consequence('The result breaks the `output` schema or `verify` of the tool.'),
    ungrounded: consequence('The reply states a value that no observation supports.'),
  })
    .optional()
    .describe('For each kind of refusal: `tell` the agent, `ask` a person, or `fail` the run.'),
  fail_closed: list(
    record({
      what: name().describe('The name of the condition in messages.'),
      when: name().describe(
        'An expression over `tool`, `args`, `effect`, `category`, `approval`, `observations`, `input`, `workspace` and `tests`.',
      ),
      code: oneOf(FAILING_CODES).default('UNSAFE_DETECTION').describe('The code that the run ends with.'),
    }),
  )
    .optional()
    .describe('Conditions that end the run before the call if they are true or cannot be evaluated.'),
  approval_timeout: number({ above: 0 })
    .optional()
    .describe('Seconds after which an unanswered approval counts as rejected.'),
}));

export const boundary = z
  .union([oneOf(PROFILES).transform((profile): BoundaryFields => ({ profile })), boundaryFields])
  .describe(
    'The limits of agents: a profile, or its fields. The boundary of an agent can only narrow that of the document.',
  );

/** Cedar policies by id: the text itself, or the file that holds it. */
export const policies = map(
  z.union([
    name().transform((inline) => ({ text: inline })),
    record(() => ({ file: name().describe('A file with the Cedar policy, relative to the document.') })),
  ]),
).describe('Cedar policies by id: the text, or `{ file }`. They decide about every tool call.');

export const pii = record(() => ({
  mode: oneOf(['tokenize', 'block', 'off'])
    .optional()
    .describe(
      '`tokenize` replaces personal data by tokens, `block` refuses it, `off` does nothing. Default: tokenize.',
    ),
  types: list(oneOf(PII_TYPES)).optional().describe('Kinds of personal data to look for. Default: all.'),
  names: bool().optional().describe('Also look for names of people. Default: false.'),
  trusted: list(name()).optional().describe('Tools and agents that receive the original values.'),
  custom: list(
    record({
      name: name().describe('The word in the tokens of this kind, such as `[PII_POLICY_001]`.'),
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
  service: record({
    url: name().describe('The address of the analyzer.'),
    language: text().optional().describe('The language of the texts. Default: `en`.'),
  })
    .optional()
    .describe('A Presidio analyzer that is asked in addition.'),
})).describe('Replaces personal data by tokens before a model sees it.');

export const retain = record(() => ({
  runs: int({ min: 0 }).optional().describe('The number of newest runs of this flow to keep, for each tenant.'),
  days: number({ above: 0 }).optional().describe('Days that a run is kept after its end.'),
  export: name().optional().describe('A folder: each run is exported there before it is removed.'),
})).describe('The rule that removes ended runs of this flow. Without it they are kept.');

export const version = z
  .literal(1, {
    error: fault(
      'bad-version',
      'this release reads version 1 of the notation and no other',
      'Write `sluice: 1`, or leave the key out.',
    ),
  })
  .describe('The version of the format: 1. It may be left out.');

export type Budgets = z.output<typeof budgets>;
export type BoundaryFields = z.output<typeof boundaryFields>;
export type Boundary = z.output<typeof boundary>;
