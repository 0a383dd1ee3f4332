/**
 * A flow in TypeScript: the document that YAML would give, with its names checked while it is written. A route to a node that
 * is not there, an agent or a tool that is not declared, a template that reads what no node leaves, or a key that the
 * notation does not have is a type error.
 */
import type { CheckedNodes, IdsOf, NodeInput } from './types.ts';
import type { NamedAgent, NamedServers, NamedTools, SharedSections } from '../../builder-types/sections.ts';
import type { Verified } from '../../builder-types/verified.ts';

/** The sections of a document besides its flow. */
export interface FlowSections<Agents, Tools, Servers = NamedServers> extends SharedSections {
  readonly agents?: Agents | undefined;
  readonly tools?: Tools | undefined;
  readonly mcp?: Servers | undefined;
}

export interface FlowInput<Nodes, Entry extends string> {
  readonly id: string;
  readonly entry: Entry;
  readonly description?: string | null | undefined;
  readonly max_iterations?: number | undefined;
  readonly nodes: Nodes;
}

export interface FlowDocument extends FlowSections<readonly NamedAgent[], NamedTools> {
  readonly flow: FlowInput<readonly NodeInput[], string>;
}

export function flow<
  const Nodes extends readonly NodeInput[],
  const Agents extends readonly NamedAgent[] = readonly NamedAgent[],
  const Tools extends NamedTools = {},
  const Servers extends NamedServers = {},
>(
  definition: FlowInput<Verified<Nodes, CheckedNodes<Nodes, Agents, Tools, Servers>>, IdsOf<Nodes>>,
  sections: FlowSections<Agents, Tools, Servers> = {},
): FlowDocument {
  return { ...sections, flow: definition as FlowDocument['flow'] };
}
