/**
 * A flow in TypeScript: the document that YAML would give, with its names checked while it is written. A route to a node that
 * is not there, an agent or a tool that is not declared, or a template that reads an unknown node is a type error.
 */
import type { CheckedNodes, IdsOf, NodeInput } from './flow-types.ts';

export interface FlowAgent {
  readonly id?: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

/** What a document may hold besides its flow. */
export interface FlowSections<Agents extends readonly FlowAgent[], Tools> {
  readonly agents?: Agents;
  readonly tools?: Tools;
  readonly models?: { readonly [alias: string]: unknown };
  readonly mcp?: { readonly [server: string]: unknown };
  readonly budgets?: { readonly [dimension: string]: number };
}

export interface FlowInput<Nodes, Entry extends string> {
  readonly id: string;
  readonly entry: Entry;
  readonly description?: string;
  readonly max_iterations?: number;
  readonly nodes: Nodes;
}

type Tools = { readonly [name: string]: { readonly [field: string]: unknown } };

export interface FlowDocument extends FlowSections<readonly FlowAgent[], Tools> {
  readonly flow: FlowInput<readonly NodeInput[], string>;
}

export function flow<
  const Nodes extends readonly NodeInput[],
  const Agents extends readonly FlowAgent[] = readonly FlowAgent[],
  const Given extends Tools = Tools,
>(
  definition: FlowInput<Nodes & CheckedNodes<Nodes, Agents, Given>, IdsOf<Nodes>>,
  sections: FlowSections<Agents, Given> = {},
): FlowDocument {
  return { ...sections, flow: definition };
}
