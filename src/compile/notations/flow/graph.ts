/** The authored graph: who leads where, which nodes belong to a branch, and what can have happened before what. */
import { componentsOf, reachableFrom } from '../../verify/components.ts';
import type { FlowEdge } from './edge.ts';
import { laterOf } from './later.ts';
import { END } from './read.ts';
import type { Flow, FlowNode } from './read.ts';

export interface FlowGraph {
  readonly edges: ReadonlyMap<string, readonly FlowEdge[]>;
  /** Declared targets only, each as often as it is named. */
  targets(id: string): readonly string[];
  readonly cycles: readonly (readonly string[])[];
  /** By parallel node: everything that can run in one of its branches. */
  readonly inBranches: ReadonlyMap<string, ReadonlySet<string>>;
  /** Nodes whose routes are taken when branches may have been joined: what was lost in one may matter there. */
  readonly afterJoins: ReadonlySet<string>;
  /** Whether one node can have run when the other begins, or, with `leaving`, when the other's routes are looked at. */
  precedes(first: string, second: string, leaving?: boolean): boolean;
  /** Whether a failure can have been handled when the node begins, or, with `leaving`, when its routes are looked at. */
  afterError(id: string, leaving?: boolean): boolean;
}

export function graphOfFlow(flow: Flow): FlowGraph {
  const edges = new Map([...flow.nodes.values()].map((node) => [node.id, edgesOfNode(node)]));
  const followed = new Map([...edges].map(([id, list]) => [id, list.filter(({ to }) => flow.nodes.has(to))]));
  const targets = (id: string): readonly string[] => followed.get(id)?.map(({ to }) => to) ?? [];
  const inBranches = new Map<string, ReadonlySet<string>>();
  for (const [id, list] of followed) {
    const heads = list.filter(({ kind }) => kind === 'branch').map(({ to }) => to);
    if (heads.length > 0) inBranches.set(id, reachableFrom(heads, targets));
  }
  const joins = [...inBranches.keys()];
  const onward = joins.flatMap((id) =>
    (followed.get(id) ?? []).flatMap(({ kind, to }) => (kind === 'branch' ? [] : to)),
  );
  const later = laterOf(followed, inBranches);
  // An edge to an unknown node may have been meant for any node, so the order of nodes is then unknown.
  const poisoned = [...edges.values()].some((list) => list.some(({ to }) => to !== END && !flow.nodes.has(to)));
  return {
    edges,
    targets,
    inBranches,
    afterJoins: new Set([...joins, ...reachableFrom(onward, targets)]),
    cycles: componentsOf(flow.nodes.keys(), targets)
      .filter(({ cyclic }) => cyclic)
      .map(({ members }) => [...members].reverse()),
    precedes: (first, second, leaving) => poisoned || later.precedes(first, second, leaving),
    afterError: (id, leaving) => poisoned || later.afterError(id, leaving),
  };
}

/** What a run can do; a terminal's routes are written down but never taken. */
export function taken(graph: FlowGraph, flow: Flow): ReadonlySet<string> {
  const { entry } = flow.value;
  return reachableFrom(flow.nodes.has(entry) ? [entry] : [], (id) =>
    (graph.edges.get(id) ?? []).flatMap(({ to, kind }) =>
      flow.nodes.has(to) && !(kind === 'route' && flow.nodes.get(id)?.value.type === 'terminal') ? [to] : [],
    ),
  );
}

function edgesOfNode(node: FlowNode): readonly FlowEdge[] {
  const { id, value } = node;
  const branches = value.type === 'parallel' ? value.branches : [];
  return [
    ...value.routes.map(({ to }, index): FlowEdge => ({
      from: id,
      to,
      kind: 'route',
      index,
      at: node.at('routes', index, 'to'),
    })),
    ...branches.map(({ to }, index): FlowEdge => ({
      from: id,
      to,
      kind: 'branch',
      index,
      at: node.at('branches', index, 'to'),
    })),
    ...value.on_error.map(({ to }, index): FlowEdge => ({
      from: id,
      to,
      kind: 'error',
      index,
      at: node.at('on_error', index, 'to'),
    })),
  ];
}
