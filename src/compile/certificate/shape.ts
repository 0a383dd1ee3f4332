/** The parts of the certificate that are about shape: which cap ends each cycle, and what runs at once. */
import type { NodeId } from '../../ir/nodes.ts';
import { reachableFrom } from '../verify/components.ts';
import type { Graph } from '../verify/graph.ts';

export interface Cycle {
  readonly nodes: readonly string[];
  readonly caps: readonly { readonly label: string; readonly max: number }[];
}
export interface Concurrency {
  /** The authored node that starts the branches. */
  readonly at: string;
  /** The authored nodes of each branch. Those of different branches can run at once. */
  readonly branches: readonly (readonly string[])[];
}

export function cyclesOf(graph: Graph): readonly Cycle[] {
  const cycles: Cycle[] = [];
  for (const { members, cyclic } of graph.components()) {
    if (!cyclic) continue;
    const caps = new Map<string, number>();
    for (const id of members)
      for (const [, { label, max }] of graph.bounding(id)) if (max !== null) caps.set(label, max);
    const names = authored(graph, new Set(members));
    // A way round that enters nothing is told by what people call its nodes.
    const nodes = names.length > 0 ? names : [...new Set(members.map((id) => graph.node(id).origin))].reverse();
    cycles.push({ nodes, caps: [...caps].map(([label, max]) => ({ label, max })) });
  }
  return cycles.reverse();
}

export function concurrencyOf(graph: Graph): readonly Concurrency[] {
  return graph.ids.flatMap((id): Concurrency[] => {
    const node = graph.node(id);
    if (node.op !== 'fork' || node.widthMax === 1) return [];
    const heads = 'heads' in node.over ? node.over.heads.map(({ to }) => to) : [node.over.head];
    return [{ at: node.origin, branches: heads.map((head) => authored(graph, reachableFrom([head], graph.targets))) }];
  });
}

function authored(graph: Graph, ids: ReadonlySet<NodeId>): readonly string[] {
  const found = [...ids]
    .filter((id) => graph.node(id).enters !== undefined)
    .sort((a, b) => graph.position(a) - graph.position(b));
  return found.map((id) => graph.node(id).enters ?? id);
}
