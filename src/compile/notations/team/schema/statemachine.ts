/** States, the agents in them, and the transitions that lead from one to another. */
import type * as z from 'zod';
import { bool, fault, int, list, map, name, oneOf, phrase, record, some } from '../../../document/shape/fields.ts';
import { contextSource } from './agents.ts';

export const MERGES = ['union', 'consensus', 'vote', 'ranked', 'semantic_diff'] as const;
export type MergeStrategy = (typeof MERGES)[number];

const merge = record({
  Strategy: oneOf(MERGES).default('union'),
  Agent: name().optional().describe('Who decides; needed for ranked and semantic_diff.'),
  ConflictResolution: list(oneOf(MERGES))
    .default([])
    .describe('Tried in order where the strategy reaches no decision.'),
});

const transition = record({
  To: name().describe('The state to enter; of a parallel transition, the state after all branches.'),
  Signal: phrase().optional().describe('What the agent says to take the transition; without it, every turn takes it.'),
  Contract: name().optional(),
  Contracts: some(name()).describe('Contracts that must all hold.'),
  SourceAgents: some(name()),
  MaxRevisits: int({ min: 0 }).default(0).describe('How often the transition may be taken; 0 for any number.'),
  ReviewArtifactPath: name().optional().describe('Where the objections are that are still open.'),
  HandoffContext: list(contextSource).optional().describe('What the next agent is given when the transition is taken.'),
  RecoveryAgent: name().optional(),
  Parallel: bool().default(false),
  Targets: list(name()).optional().describe('The states whose agents run at the same time.'),
  Merge: merge.optional(),
});

const state = record({
  Agent: name(),
  Transitions: list(transition).default([]),
  Terminal: bool().default(false),
});

export const stateMachine = record({
  Initial: name(),
  States: map(state).refine((states) => Object.keys(states).length > 0, {
    error: fault('bad-value', 'a state machine needs at least one state'),
  }),
});

export type RawStateMachine = z.output<typeof stateMachine>;
export type RawState = z.output<typeof state>;
export type RawTransition = z.output<typeof transition>;
export type RawMerge = z.output<typeof merge>;
