/** The sections `models` and `agents`. */
import * as z from 'zod';
import { ATTACHMENT_KINDS } from '@sluice-internal/kernel/catalog';
import { REASONING_EFFORTS } from '@sluice-internal/kernel/ir';
import {
  bool,
  duration,
  fault,
  headers,
  int,
  list,
  map,
  jsonMap,
  name,
  number,
  oneOf,
  record,
  ruled,
  text,
} from '../shape/fields.ts';
import { boundary, budgets } from './bounds.ts';
import { jsonSchema } from '../shape/schema-check.ts';
import { quoted } from '../../source/nearest.ts';

/** The names that conditions on an answer read. */
export const ANSWER_NAMES = ['answer', 'goal', 'input', 'observations', 'receipts'];

/** Settings of requests, of a model or of an agent. */
export const temperature = () =>
  number({ min: 0, max: 2 }).optional().describe("Randomness of the replies, from 0 to 2. Default: the provider's.");
export const topP = () =>
  number({ min: 0, max: 1 }).optional().describe("Nucleus sampling, from 0 to 1. Default: the provider's.");
export const seed = () => int().optional().describe('A number that makes replies repeatable, if the provider can.');

export const models = map(
  record(() => ({
    provider: name().describe(
      'The provider, such as `openai`, `anthropic` or `google`, or an AI SDK package, such as `@ai-sdk/azure`.',
    ),
    model: name().describe("The provider's name of the model."),
    description: text().optional().describe('A note for readers.'),
    price: record({
      input: number({ min: 0 }).describe('US dollars per million input tokens.'),
      output: number({ min: 0 }).describe('US dollars per million output tokens.'),
      cached_input: number({ min: 0 }).optional().describe('US dollars per million input tokens read from a cache.'),
      cache_write: number({ min: 0 }).optional().describe('US dollars per million input tokens written to a cache.'),
      cache_write_1h: number({ min: 0 })
        .optional()
        .describe('US dollars per million input tokens that the cache keeps for an hour.'),
      long: record({
        above: int({ min: 1 }).describe('Input tokens of a call above which these prices apply.'),
        input: number({ min: 0 }).describe('US dollars per million input tokens.'),
        output: number({ min: 0 }).describe('US dollars per million output tokens.'),
      })
        .optional()
        .describe('Prices of a call whose input has more tokens than `above`.'),
    })
      .optional()
      .describe('The price, in US dollars per million tokens. Default: the price table, if it has the model.'),
    limits: record({
      context_tokens: int({ min: 1 })
        .optional()
        .describe('The context window. `sluice check` and `compression` of loops use it.'),
      max_output_tokens: int({ min: 1 }).optional().describe('The most tokens of one reply. Default: no limit.'),
      requests_per_minute: int({ min: 1 }).optional().describe('The most requests in a minute. Default: no limit.'),
    })
      .optional()
      .describe('Limits of the model.'),
    base_url: name().optional().describe('The address of another server with the same protocol.'),
    api_key_env: name().optional().describe('The environment variable that holds the key.'),
    timeout: number({ min: 0.001, max: 86_400 }).optional().describe('Seconds that one call may take. Default: 120.'),
    retries: int({ min: 0 })
      .optional()
      .describe('How often a request is repeated after a connection error, 429 or 5xx. Default: 2.'),
    headers: headers(text()).optional().describe('Headers of every request.'),
    organization: name().optional().describe('The OpenAI organization.'),
    temperature: temperature(),
    fallback: z
      .union([name().transform((alias) => [alias]), list(name())])
      .optional()
      .describe('Models that are called instead, in order, while this one is not available.'),
    accepts: list(oneOf(ATTACHMENT_KINDS))
      .optional()
      .describe('The attachments that the model takes: `image`, `pdf`, `audio`. Default: by the name of the model.'),
    settings: jsonMap().optional().describe('Settings of a provider package, such as the `region` of Bedrock.'),
    options: jsonMap().optional().describe('Passed to the provider as it is.'),
  })),
).describe('Models by alias.');

const memoryFields = record(() => ({
  recall: int({ min: 0, max: 50 }).optional().describe('The most entries that a run reads. Default: 5.'),
  expires: duration().optional().describe('The longest time that an entry is kept. Default: `90d`.'),
  quarantine: oneOf(['untrusted', 'all', 'off'])
    .optional()
    .describe(
      'Entries that an operator must release first: those of runs that read untrusted text (the default), all, or only unsupported ones.',
    ),
  validate: list(
    record({
      when: name().describe(`An expression over ${quoted(ANSWER_NAMES)}.`),
      reason: text({ min: 1 }).describe('The problem, as a sentence for the agent or the person who corrects it.'),
    }),
  )
    .optional()
    .describe('Conditions on an answer that is remembered.'),
  share: z
    .union([
      name(),
      record({
        name: name().describe('The name of the shared memory.'),
        users: oneOf(['own', 'all'])
          .optional()
          .describe('`own`: entries of the same user. `all`: of all. Default: own.'),
      }),
    ])
    .optional()
    .describe(
      'The name of a memory that agents of the tenant share, for the same user or, with `users: all`, for all.',
    ),
}));
export type RawMemory = z.output<typeof memoryFields>;

/** Long-term memory, of an agent or of a loop. */
export const memory = () =>
  z.union([bool(), memoryFields]).optional().describe('Remembers answers between runs. `true` takes the defaults.');

const agentFields = record(() => ({
  id: name().optional().describe('The id that nodes, steps and scripts use. Default: `name`.'),
  name: name().optional().describe('The name that people and other agents read.'),
  description: text().optional().describe('The task of the agent, as people and other agents read it.'),
  model: name().optional().describe('An alias of `models`, or `provider/model`.'),
  instructions: text().default('').describe('The system prompt. Templates are not filled in here.'),
  tools: list(name()).default([]).describe('The tools that the agent may propose to call.'),
  output: jsonSchema().optional().describe('The JSON Schema that the reply must fit.'),
  budget: budgets.optional().describe('The most that this agent may use in a run.'),
  boundary: boundary.optional(),
  memory: memory(),
  max_output_tokens: int({ min: 1 }).optional().describe('The most tokens of one reply.'),
  temperature: temperature(),
  top_p: topP(),
  seed: seed(),
  stop: list(name()).optional().describe('Texts at which the model stops.'),
  reasoning_effort: oneOf(REASONING_EFFORTS).optional().describe('How much the model thinks before it replies.'),
  parallel_tool_calls: bool().optional().describe('False: the model calls at most one tool in a reply.'),
  tool_choice: z
    .union([
      oneOf(['auto', 'required', 'none']),
      record({ tool: name().describe('The tool that the turn starts with.') }),
    ])
    .optional()
    .describe('`required`, or `{ tool: NAME }`: the turn starts with a tool call. `none`: the model calls no tool.'),
  tool_width: int({ min: 1, max: 64 })
    .optional()
    .describe('How many tool calls of one reply run at once. Default: 8; 1 runs them one after another.'),
}));
/** The fields of an agent. */
export const agentKeys = (): readonly string[] => Object.keys(agentFields.shape);

const agent = ruled(agentFields, ({ id, name: called }) =>
  id === undefined && called === undefined
    ? fault('missing-field', 'an agent needs an `id` or a `name`, and this one has neither', 'Add `id: …`.')
    : null,
);

export const agents = list(agent).describe('The agents that nodes and steps refer to.');

export type Agent = z.output<typeof agents>[number];
