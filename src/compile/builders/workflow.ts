/**
 * A workflow in TypeScript: the document that YAML would give, with its names checked while it is written. A prompt that
 * names a variable which no earlier step stores is a type error, and so is an agent that the given list does not have.
 */
import type { CheckedSteps, StepInput } from './workflow-types.ts';

export interface WorkflowAgent {
  readonly id?: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

/** What a document may hold besides its steps. */
export interface WorkflowSections<Agents extends readonly WorkflowAgent[]> {
  readonly agents?: Agents;
  readonly models?: { readonly [alias: string]: unknown };
  readonly tools?: { readonly [name: string]: unknown };
  readonly mcp?: { readonly [server: string]: unknown };
  readonly budgets?: { readonly [dimension: string]: number };
}

export interface WorkflowInput<Steps> {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly steps: Steps;
}

export interface WorkflowDocument extends WorkflowSections<readonly WorkflowAgent[]> {
  readonly workflow: WorkflowInput<readonly StepInput[]>;
}

export function workflow<
  const Steps extends readonly StepInput[],
  const Agents extends readonly WorkflowAgent[] = readonly WorkflowAgent[],
>(
  definition: WorkflowInput<Steps & CheckedSteps<Steps, Agents>>,
  sections: WorkflowSections<Agents> = {},
): WorkflowDocument {
  return { ...sections, workflow: definition };
}
