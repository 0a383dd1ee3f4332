/** A state machine as authors write it, and as it is after reading. */
import type * as z from 'zod';
import { bool, fault, int, list, map, name, phrase, record, some } from '@sluice-internal/compile/document';
import type { Path } from '@sluice-internal/compile/source';
import type { Check } from '../../model.ts';
import { contextSource } from '../../schema/agents.ts';
import { sourceAgents } from '../../schema/gates.ts';
import { mergeSchema } from '../fan-out.ts';
import { mayTake, sameTrigger } from '../routing.ts';

const transition = record(() => ({
  To: name().describe('The state to enter; of a parallel transition, the state after all branches.'),
  Signal: phrase().optional().describe('The signal that takes the transition; without it, every turn takes it.'),
  Contract: name().optional().describe('A contract that must hold.'),
  Contracts: some(name()).describe('Contracts that must all hold.'),
  SourceAgents: sourceAgents(),
  MaxRevisits: int({ min: 0 }).default(0).describe('How often the transition may be taken; 0 for no limit.'),
  ReviewArtifactPath: name().optional().describe('The file with the objections that are still open.'),
  HandoffContext: list(contextSource)
    .optional()
    .describe('Sources that the next agent gets when the transition is taken.'),
  RecoveryAgent: name().optional().describe('An agent that gets one turn, once, after two refusals in a row.'),
  Parallel: bool().default(false).describe('True: the agents of all Targets run at the same time, one turn each.'),
  Targets: list(name()).optional().describe('The states whose agents run at the same time.'),
  Merge: mergeSchema.optional().describe('How the outputs of the Targets become one. Default: all of them.'),
}));

const state = record(() => ({
  Agent: name().describe('The agent of the state.'),
  Transitions: list(transition).default([]).describe('The ways to other states.'),
  Terminal: bool().default(false).describe('True: the agent continues until a termination ends the session.'),
}));

export const machineSchema = record(() => ({
  Initial: name().describe('The first state.'),
  States: map(state)
    .refine((states) => Object.keys(states).length > 0, {
      error: fault('bad-value', 'a state machine needs at least one state', 'Add one to `States`.'),
    })
    .describe('The states, by name.'),
}));

export type RawMachine = z.output<typeof machineSchema>;
export type RawState = z.output<typeof state>;
export type TransitionFields = z.input<typeof transition>;
export type RawTransition = z.output<typeof transition>;

export interface Transition {
  readonly raw: RawTransition;
  readonly checks: readonly Check[];
}

export interface Machine {
  readonly raw: RawMachine;
  transitions(state: string): readonly Transition[];
  path(state: string): Path;
  /** The states that are entered other than as a branch. */
  readonly entered: ReadonlySet<string>;
}

/** The transitions that the state's own agent may take; of several with the same signal, the first. */
export function openIn({ Agent, Transitions, Terminal }: RawState): readonly RawTransition[] {
  if (Terminal) return [];
  const open: RawTransition[] = [];
  for (const each of Transitions)
    if (mayTake(each, Agent) && !open.some(({ Signal }) => sameTrigger(Signal, each.Signal))) open.push(each);
  return open;
}

export function isTerminal(state: RawState | undefined): boolean {
  return state === undefined || state.Terminal || state.Transitions.length === 0;
}
