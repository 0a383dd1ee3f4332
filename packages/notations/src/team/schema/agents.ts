/** The agents of a team as authors write them: models, plugins, limits, and their view of the history. */
import * as z from 'zod';
import { ATTACHMENT_KINDS } from '@sluice-internal/kernel/catalog';
import {
  ANSWER_NAMES,
  bool,
  duration,
  headers,
  int,
  json,
  list,
  map,
  name,
  number,
  oneOf,
  record,
  seed,
  temperature,
  text,
  topP,
} from '@sluice-internal/compile/document';
import { quoted } from '@sluice-internal/compile/source';
import { spelt } from '../spelling.ts';
import { plainText } from './conditions.ts';
import { routeFields } from './gates.ts';

/** The description of keys of the source system that are read without effect. `sluice check` names the replacement. */
export const NO_EFFECT = 'It has no effect here. `sluice check` names the replacement.';

const modelFields = record(() => ({
  ModelId: name().describe("The provider's name of the model, or an alias."),
  Provider: name().optional().describe('The provider. Default: that of `provider/model`, otherwise `openai`.'),
  Endpoint: name().optional().describe('The address of another server with the same protocol.'),
  ApiKeyEnv: name().optional().describe('The environment variable that holds the key.'),
  ApiKeyEnvVar: name().optional().describe('The same as ApiKeyEnv.'),
  ReasoningEffort: spelt('ReasoningEffort').optional().describe('How much the model thinks before it replies.'),
  Temperature: temperature(),
  TopP: topP(),
  Seed: seed(),
  Stop: list(name()).optional().describe('Texts at which the model stops.'),
  ParallelToolCalls: bool().optional().describe('False: the model calls at most one tool in a reply.'),
  Headers: headers(plainText()).optional().describe('Headers of every request.'),
  Organization: name().optional().describe('The OpenAI organization.'),
  TimeoutSeconds: number({ min: 0.001, max: 86_400 })
    .optional()
    .describe('Seconds that one call may take. Default: 120.'),
  Retries: int({ min: 0 })
    .optional()
    .describe('How often a request is repeated after a connection error, 429 or 5xx. Default: 2.'),
  MaxTokens: int({ min: 1 }).optional().describe('The most tokens of a reply.'),
  Accepts: list(oneOf(ATTACHMENT_KINDS)).optional().describe('The attachments that the model takes.'),
  Options: map(json()).optional().describe('Passed to the provider as it is.'),
}));

export const model = z.union([name(), modelFields]).describe('A model by name or alias, or with its settings.');
export const models = map(z.union([name(), modelFields])).describe('Models by alias.');

const contextWindow = record(() => ({
  TextOnly: bool().optional().describe('Leave out tool calls and their results.'),
  ExcludeAgents: list(name()).optional().describe('Leave out messages of these agents.'),
  IncludeAgents: list(name()).optional().describe('Only messages of these agents, of the user and of the engine.'),
  MaxTurnAge: int({ min: 0 }).optional().describe('Only messages of this many turns back; 0 for any age.'),
  MaxTailMessages: int({ min: 0 }).optional().describe('Only this many of the latest messages; 0 for all.'),
  MaxMessages: int({ min: 0 }).optional().describe('The same as MaxTailMessages.'),
  ContextCapFraction: number({ min: 0, max: 1 }).optional().describe(NO_EFFECT),
  MaxToolResultChars: int({ min: 0 }).optional().describe('The most characters of a tool result; 0 for no limit.'),
  ToolResultCharOverrides: map(int({ min: 0 }))
    .optional()
    .describe('MaxToolResultChars of single tools, by name.'),
  MaxReplayChars: int({ min: 0 }).optional().describe('Characters of a tool result of an earlier turn; 0 means 2,000.'),
}));

export const contextSource = record(() => ({
  Source: name().describe(
    'session_context, changes_recent[:N], brief_field:FIELD, file:PATH; for an agent also own_history[:N].',
  ),
  MaxChars: int({ min: 1 })
    .optional()
    .describe('The most characters of the source. Default: 4000, for `own_history` 8000.'),
  Label: name().optional().describe('The heading above the text. Default: the source.'),
}));

const memory = record(() => ({
  Recall: int({ min: 0, max: 50 }).optional().describe('The most entries that a run reads. Default: 5.'),
  Expires: duration().optional().describe('The longest time that an entry is kept. Default: `90d`.'),
  Quarantine: oneOf(['untrusted', 'all', 'off']).optional().describe('Entries that an operator must release first.'),
  Validate: list(
    record({
      When: name().describe(`An expression over ${quoted(ANSWER_NAMES)}.`),
      Reason: text({ min: 1 }).describe('The problem, as a sentence.'),
    }),
  )
    .optional()
    .describe('Conditions on an answer that is remembered.'),
  Share: z
    .union([
      name(),
      record({
        Name: name().describe('The name of the shared memory.'),
        Users: oneOf(['own', 'all'])
          .optional()
          .describe('`own`: entries of the same user. `all`: of all. Default: own.'),
      }),
    ])
    .optional()
    .describe('The name of a memory that agents of the tenant share.'),
})).describe('How the agent remembers answers between runs.');

const agent = record(() => ({
  Name: name().describe('The name of the agent.'),
  Instructions: text().default('').describe('The system prompt.'),
  Description: text().optional().describe('A sentence for models that choose among the agents.'),
  Model: model.optional(),
  Plugins: list(name())
    .default([])
    .describe('Plugins such as FileSystem, Shell and Handoff, or tools of the document.'),
  Capabilities: map(list(name()))
    .optional()
    .describe(
      'Limits a plugin to some of its tools: `read`, `write`, `delete`, `execute`, `network`, or names of tools.',
    ),
  Isolation: spelt('Isolation')
    .optional()
    .describe('Fresh: the agent sees the task, its handoff and its Context, and not the shared history.'),
  Routes: list(record(routeFields)).optional().describe('With `keyword`: routes that only this agent may take.'),
  FunctionChoice: spelt('FunctionChoice')
    .default('auto')
    .describe('`required`: the turn starts with a tool call. `none`: the agent has no tools.'),
  MaxToolCallsPerTurn: int({ min: 0 }).default(0).describe('The most tool calls of one turn; 0 for no limit.'),
  ToolWidth: int({ min: 1, max: 64 }).optional().describe('How many tool calls of one reply run at once. Default: 8.'),
  MaxInTurnContextTokens: int({ min: 0 }).optional().describe(NO_EFFECT),
  MaxInTurnToolPairs: int({ min: 0 }).optional().describe(NO_EFFECT),
  TrustScore: number({ min: 0, max: 1 })
    .default(0.7)
    .describe('Below 0.6 the agent gets no tool that writes or uses the network.'),
  ContextWindow: contextWindow.optional().describe('The part of the shared history that the agent sees.'),
  Context: list(contextSource).optional().describe('Sources that replace the shared history.'),
  EnableMemory: bool().optional().describe('True: the agent remembers answers between runs, with the rules of Memory.'),
  Memory: memory.optional(),
  SubAgentModel: json().optional().describe(NO_EFFECT),
  SubAgentPlugins: json().optional().describe(NO_EFFECT),
  SubAgentMaxToolCalls: json().optional().describe(NO_EFFECT),
  AgentFile: name().optional().describe('A file with the fields of the agent, or Markdown with its instructions.'),
  RemoteAgent: record(() => ({
    Url: name().describe('The address of the agent. Its card is at `/.well-known/agent-card.json` below it.'),
    TimeoutSeconds: number({ above: 0 }).optional().describe('Seconds that one turn may take. Default: 120.'),
  }))
    .optional()
    .describe('The agent runs on another server and speaks A2A. The other agents see its messages as data.'),
}));

/** An agent file can give the name, so editors ask for one of the two. */
const NAMED = { required: [], anyOf: [{ required: ['Name'] }, { required: ['AgentFile'] }] };
export const agents = list(agent.meta(NAMED)).describe('The agents of the team.');

export type RawModel = z.output<typeof model>;
export type RawAgent = z.output<typeof agent>;
export type RawSource = z.output<typeof contextSource>;
