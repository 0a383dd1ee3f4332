/**
 * The team notation as authors write it, key names and case as printed. One definition reads documents and serves editors.
 * Sections that other systems act on and this one does not are read as they are, so that a document need not be cut down.
 */
import type * as z from 'zod';
import { bool, fault, int, json, list, map, name, oneOf, phrase, record, ruled, text } from '../../../document/shape/fields.ts';
import { agents, model, models } from './agents.ts';
import { contract } from './contracts.ts';
import { graph } from './graph.ts';
import { adversarial, magentic, mapReduce, scatterGather } from './phases.ts';
import { route, structuredRoute } from './routes.ts';
import { stateMachine } from './statemachine.ts';
import { termination } from './termination.ts';

export const STRATEGIES = [
  'sequential',
  'roundrobin',
  'keyword',
  'structured',
  'statemachine',
  'graph',
  'scattergather',
  'mapreduce',
  'llm',
  'magentic',
  'adversarial',
] as const;
export type Strategy = (typeof STRATEGIES)[number];

const selection = record({
  Type: oneOf(STRATEGIES).default('sequential').describe('How the agent of the next turn is chosen.'),
  DefaultAgent: name()
    .optional()
    .describe('Who begins, and who goes on where nothing else is said; the first agent unless told.'),
  Routes: list(route).optional(),
  StructuredRoutes: list(structuredRoute).optional(),
  StateMachine: stateMachine.optional(),
  Graph: graph.optional(),
  ScatterGather: scatterGather.optional(),
  MapReduce: mapReduce.optional(),
  Adversarial: adversarial.optional(),
  Magentic: magentic.optional(),
  Model: model.optional().describe('Of the strategy llm: who chooses.'),
  Prompt: text().optional().describe('Of the strategy llm; `{{$agents}}` and `{{$history}}` are filled in.'),
});

const FAILURES = ['NoProgress', 'ConflictingEvidence', 'MissingEvidence', 'InvalidTransition'] as const;
export type FailureType = (typeof FAILURES)[number];
const ACTIONS = ['Reinstruct', 'ActivateRecovery', 'EscalateToHuman', 'Abort'] as const;
const policy = record({ Action: oneOf(ACTIONS).default('Reinstruct'), Threshold: int({ min: 1 }).optional() });

const failureHandling = record({
  NoProgress: policy.optional(),
  ConflictingEvidence: policy.optional(),
  MissingEvidence: policy.optional(),
  InvalidTransition: policy.optional(),
  MaxConsecutiveContractFailures: int({ min: 0 }).default(0),
  MaxConsecutiveTurnsWithoutSignal: int({ min: 0 }).default(0),
});

const verifier = record({
  AgentName: name(),
  EveryNTurns: int({ min: 0 }).default(0),
  TriggerOnSuspiciousTransition: bool().default(true),
  FindingsKeyword: phrase().default('INCONSISTENCY'),
});

const validation = record({
  BriefPath: name().optional(),
  TestReportPath: name().optional(),
  ChangeLogPath: name().optional(),
  TestAssertionPatterns: list(name()).optional(),
  Validators: map(name())
    .optional()
    .describe('Validators of your own: name to module, such as `./checks.ts#hasNotes`.'),
});

const compactionFields = record({
  Mode: oneOf(['lossless', 'window', 'llm', 'intent', 'hybrid']).default('lossless'),
  TriggerTurnCount: int({ min: 1 }).default(50),
  KeepRecentTurns: int({ min: 1 }).default(10),
});
const compaction = ruled(compactionFields, ({ TriggerTurnCount: trigger, KeepRecentTurns: kept }, context) => {
  if (trigger > kept) return;
  const message = fault('bad-value', '`TriggerTurnCount` must be above `KeepRecentTurns`');
  context.addIssue({ code: 'custom', message });
});

/** Read, and said not to be acted on. */
const unenforced = {
  SystemPromptPath: json().optional(),
  Security: json().optional(),
  MaxTotalTokens: json().optional(),
  WarnTurnTokens: json().optional(),
  ContextBudget: json().optional(),
  McpServers: json().optional(),
  ChangeTracking: json().optional(),
  Events: json().optional(),
  Telemetry: json().optional(),
  Checkpoint: json().optional(),
  ApiProfiles: json().optional(),
  Saga: json().optional(),
  SkillCuration: json().optional(),
  Brownfield: json().optional(),
  Output: json().optional(),
};
export const UNENFORCED: readonly string[] = Object.keys(unenforced);

export const teamShape = {
  SchemaVersion: json().optional(),
  Name: name().optional(),
  Description: text().optional(),
  SystemPrompt: text().optional().describe("Put in front of every agent's instructions."),
  Models: models.optional(),
  Agents: agents.default([]),
  Selection: selection.prefault({}),
  Termination: termination.optional(),
  Contracts: list(contract).default([]),
  FailureHandling: failureHandling.prefault({}),
  Verifier: verifier.optional(),
  Validation: validation.prefault({}),
  TestSelector: record({ FindRelatedCommand: name().optional(), FullSuiteCommand: name().optional() }).optional(),
  EvidenceStore: record({ Path: name().optional() }).optional(),
  Compaction: compaction.optional(),
  ...unenforced,
};
export const teamSchema = record(teamShape);
export const TEAM_KEYS: readonly string[] = Object.keys(teamShape);
export const VALIDATION_KEYS: readonly string[] = Object.keys(validation.shape);

export type RawTeam = z.output<typeof teamSchema>;
export type RawSelection = z.output<typeof selection>;
export type RawContract = z.output<typeof contract>;
export type RawFailureHandling = z.output<typeof failureHandling>;
export type RawVerifier = z.output<typeof verifier>;
