/** The agents of a team as authors write them, with what each may see and do. */
import * as z from 'zod';
import { bool, int, json, list, map, name, number, oneOf, record, text } from '../../../document/shape/fields.ts';

const modelFields = record({
  ModelId: name().describe("The provider's name of the model, or an alias."),
  Provider: name().optional(),
  Endpoint: name().optional().describe('Another address of the same protocol.'),
  ApiKeyEnv: name().optional().describe('The environment variable that holds the key.'),
  Temperature: number({ min: 0, max: 2 }).optional(),
  MaxTokens: int({ min: 1 }).optional().describe('What a reply may have at most.'),
  Options: map(json()).optional().describe('Passed to the provider as it is.'),
});

export const model = z.union([name(), modelFields]).describe('A model by name or alias, or with its settings.');
export const models = map(z.union([name(), modelFields])).describe('Models by alias.');

const contextWindow = record({
  TextOnly: bool().optional().describe('Leave out what tools were told and answered.'),
  ExcludeAgents: list(name()).optional().describe('Leave out what these agents said.'),
  MaxTurnAge: int({ min: 0 }).optional().describe('Only what is at most so many turns old; 0 for any age.'),
  MaxTailMessages: int({ min: 0 }).optional().describe('Only so many of the latest messages; 0 for all.'),
  ContextCapFraction: number({ min: 0, max: 1 }).optional(),
  MaxToolResultChars: int({ min: 0 }).optional(),
  ToolResultCharOverrides: map(int({ min: 0 })).optional(),
  MaxReplayChars: int({ min: 0 }).optional().describe('Characters of a tool result of an earlier turn; 0 means 2,000.'),
});

export const contextSource = record({
  Source: name().describe(
    'session_context, changes_recent[:N], brief_field:FIELD, file:PATH; for an agent also own_history[:N].',
  ),
  MaxChars: int({ min: 1 }).optional(),
  Label: name().optional(),
});

const agent = record({
  Name: name(),
  Instructions: text().default(''),
  Description: text().optional().describe('What others are told that this agent can do.'),
  Model: model.optional(),
  Plugins: list(name())
    .default([])
    .describe('FileSystem, Shell, Handoff, SessionContext, Http, Code; or a tool or an MCP server of the document.'),
  Capabilities: map(list(name())).optional(),
  FunctionChoice: oneOf(['auto', 'required', 'none']).default('auto'),
  MaxToolCallsPerTurn: int({ min: 0 }).default(0).describe('0 for any number.'),
  MaxInTurnContextTokens: int({ min: 0 }).optional(),
  MaxInTurnToolPairs: int({ min: 0 }).optional(),
  TrustScore: number({ min: 0, max: 1 })
    .default(0.7)
    .describe('Below 0.6 the agent gets no tool that writes or calls out.'),
  ContextWindow: contextWindow.optional(),
  Context: list(contextSource).optional().describe('What the agent is given instead of the shared history.'),
  AgentFile: name().optional(),
  RemoteAgent: record({ Url: name(), TimeoutSeconds: number({ above: 0 }).optional() }).optional(),
});

export const agents = list(agent);

export type RawModel = z.output<typeof model>;
export type RawAgent = z.output<typeof agent>;
export type RawSource = z.output<typeof contextSource>;
