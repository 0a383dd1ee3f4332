/**
 * A workflow in TypeScript: the document that YAML would give, with its names checked while it is written. A prompt that
 * names a variable which no earlier step stores is a type error, and so is an agent that the given list does not have, or a
 * key that the notation does not have.
 */
import type { NamedAgent, NamedServers, NamedTools, SharedSections } from '../../builder-types/sections.ts';
import type { Verified } from '../../builder-types/verified.ts';
import type { StepInput } from './steps.ts';
import type { CheckedSteps } from './types.ts';

/** What a document may hold besides its steps. */
export interface WorkflowSections<Agents> extends SharedSections {
  readonly agents?: Agents;
  readonly tools?: NamedTools;
  readonly mcp?: NamedServers;
}

export interface WorkflowInput<Steps> {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string | null;
  /** Read and left alone. */
  readonly created_at?: unknown;
  readonly steps: Steps;
}

export interface WorkflowDocument extends WorkflowSections<readonly NamedAgent[]> {
  readonly workflow: WorkflowInput<readonly StepInput[]>;
}

export function workflow<
  const Steps extends readonly StepInput[],
  const Agents extends readonly NamedAgent[] = readonly NamedAgent[],
>(
  definition: WorkflowInput<Verified<Steps, CheckedSteps<Steps, Agents>>>,
  sections: WorkflowSections<Agents> = {},
): WorkflowDocument {
  return { ...sections, workflow: definition };
}
