/** The agents of a team as authors write them: models, plugins, limits, and their view of the history. */
import * as z from 'zod';
import { ATTACHMENT_KINDS } from '../../../../catalog/attachment-kinds.ts';
import { spelt } from '../spelling.ts';
import { plainText } from './conditions.ts';
import { bool, duration, headers, int, json, list, map, name, number, oneOf, phrase, record, some, text } from '../../../document/shape/fields.ts';

const modelFields = record(() => ({
  ModelId: name().describe("The provider's name of the model, or an alias."),
  Provider: name().optional(),
  Endpoint: name().optional().describe('Another address of the same protocol.'),
  ApiKeyEnv: name().optional().describe('The environment variable that holds the key.'),
  ApiKeyEnvVar: name().optional().describe('The same as ApiKeyEnv.'),
  ReasoningEffort: spelt('ReasoningEffort').optional().describe('How much the model thinks before it replies.'),
  Temperature: number({ min: 0, max: 2 }).optional(),
  TopP: number({ min: 0, max: 1 }).optional(),
  Seed: int().optional(),
  Stop: list(name()).optional().describe('Texts at which the model stops.'),
  ParallelToolCalls: bool().optional().describe('False: the model calls at most one tool in a reply.'),
  Headers: headers(plainText()).optional().describe('Headers of every request.'),
  Organization: name().optional().describe('The OpenAI organization.'),
  TimeoutSeconds: number({ min: 0.001, max: 86_400 }).optional().describe('Seconds that one call may take. Default: 120.'),
  Retries: int({ min: 0 }).optional().describe('How often a request is repeated that did not get through. Default: 2.'),
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
  ContextCapFraction: number({ min: 0, max: 1 }).optional(),
  MaxToolResultChars: int({ min: 0 }).optional(),
  ToolResultCharOverrides: map(int({ min: 0 })).optional(),
  MaxReplayChars: int({ min: 0 }).optional().describe('Characters of a tool result of an earlier turn; 0 means 2,000.'),
}));

export const contextSource = record(() => ({
  Source: name().describe(
    'session_context, changes_recent[:N], brief_field:FIELD, file:PATH; for an agent also own_history[:N].',
  ),
  MaxChars: int({ min: 1 }).optional(),
  Label: name().optional(),
}));

const memory = record(() => ({
  Recall: int({ min: 0, max: 50 }).optional().describe('Entries that a run reads at most; default 5.'),
  Expires: duration().optional().describe('How long an entry lasts at most; default `90d`.'),
  Quarantine: oneOf(['untrusted', 'all', 'off']).optional().describe('Entries that an operator must release first.'),
  Validate: list(record({ When: name(), Reason: text({ min: 1 }) }))
    .optional()
    .describe('Conditions over `answer`, `goal` and `observations` on an answer that is remembered.'),
  Share: z
    .union([name(), record({ Name: name(), Users: oneOf(['own', 'all']).optional() })])
    .optional()
    .describe('The name of a memory that agents of the tenant share.'),
})).describe('How the agent remembers answers between runs.');

const agentRoute = record(() => ({
  Keyword: phrase(),
  Agent: name(),
  Validator: name().optional(),
  Validators: some(name()),
  Contract: name().optional(),
  Contracts: some(name()),
  RequiredCommandPattern: name().optional(),
  ShellFallbackPattern: name().optional(),
  RequireHumanApproval: bool().default(false),
  RecoveryAgent: name().optional(),
}));

const agent = record(() => ({
  Name: name(),
  Instructions: text().default(''),
  Description: text().optional().describe('A sentence for models that choose among the agents.'),
  Model: model.optional(),
  Plugins: list(name())
    .default([])
    .describe('Plugins such as FileSystem, Shell and Handoff, or tools of the document.'),
  Capabilities: map(list(name()))
    .optional()
    .describe('Limits a plugin to some of its tools: `read`, `write`, `delete`, `execute`, `network`, or names of tools.'),
  Isolation: spelt('Isolation')
    .optional()
    .describe('Fresh: the agent sees the task, its handoff and its Context, and not the shared history.'),
  Routes: list(agentRoute).optional().describe('With `keyword`: routes that only this agent may take.'),
  FunctionChoice: spelt('FunctionChoice').default('auto'),
  MaxToolCallsPerTurn: int({ min: 0 }).default(0).describe('The most tool calls of one turn; 0 for no limit.'),
  ToolWidth: int({ min: 1, max: 64 }).optional().describe('How many tool calls of one reply run at once. Default 8.'),
  MaxInTurnContextTokens: int({ min: 0 }).optional(),
  MaxInTurnToolPairs: int({ min: 0 }).optional(),
  TrustScore: number({ min: 0, max: 1 })
    .default(0.7)
    .describe('Below 0.6 the agent gets no tool that writes or uses the network.'),
  ContextWindow: contextWindow.optional(),
  Context: list(contextSource).optional().describe('Sources that replace the shared history.'),
  EnableMemory: bool().optional().describe('True: the agent remembers answers between runs, with the rules of Memory.'),
  Memory: memory.optional(),
  SubAgentModel: json().optional(),
  SubAgentPlugins: json().optional(),
  SubAgentMaxToolCalls: json().optional(),
  AgentFile: name().optional().describe('A file with the fields of the agent, or Markdown with its instructions.'),
  RemoteAgent: record(() => ({
    Url: name().describe('The address of the agent. Its card is at `/.well-known/agent-card.json` below it.'),
    TimeoutSeconds: number({ above: 0 }).optional().describe('Seconds that one turn may take. Default: 120.'),
  }))
    .optional()
    .describe('The agent runs elsewhere and speaks A2A. What it says is shown to the others as data.'),
}));

/** An agent file can give the name, so editors ask for one of the two. */
const NAMED = { required: [], anyOf: [{ required: ['Name'] }, { required: ['AgentFile'] }] };
export const agents = list(agent.meta(NAMED));

export type RawModel = z.output<typeof model>;
export type RawAgent = z.output<typeof agent>;
export type RawSource = z.output<typeof contextSource>;
