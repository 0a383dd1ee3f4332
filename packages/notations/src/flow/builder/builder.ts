/**
 * A flow in TypeScript. It becomes the document that YAML would give, and the compiler checks its names while it is written:
 * nodes, agents, tools, templates and keys.
 */
import type { CheckedNodes, IdsOf, NodeInput } from './types.ts';
import type { FlowSections, NamedAgent, NamedServers, NamedTools, Verified } from '@sluice-internal/compile/document';

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
