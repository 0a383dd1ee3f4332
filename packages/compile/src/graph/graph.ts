/** A compiled body as a graph that is walked many times: edges computed once, ids that lead nowhere left out. */
import { countsVisits, isCounted, isMeasured, overTarget } from '@sluice-internal/kernel/ir';
import type { DoNode, FlowBody, Meter, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import { componentsOf, reachableFrom, type Component } from './components.ts';

/**
 * A limit that the expressions of the flow keep: some nodes are visited at most `max` times after each visit of one of the
 * nodes `of`, and `atStart` times before the first. The lowering guarantees this; the certificate uses it.
 */
export interface Share {
  /** The nodes, or the meter that they charge. */
  readonly counted: MeterId | readonly NodeId[];
  readonly of: readonly NodeId[];
  readonly max: number;
  readonly atStart: number;
}

type Bounding = readonly (readonly [MeterId, Meter])[];

export interface Graph {
  readonly body: FlowBody;
  readonly shares: readonly Share[];
  readonly ids: readonly NodeId[];
  node(id: NodeId): Node;
  /** Its place in the order of the document. */
  position(id: NodeId): number;
  edges(id: NodeId): readonly Edge[];
  targets(id: NodeId): readonly NodeId[];
  /** The edges into a node. */
  sources(id: NodeId): readonly { readonly from: NodeId; readonly kind: Edge['kind'] }[];
  /** In reverse topological order. */
  components(): readonly Component<NodeId>[];
  /** The nodes that a run can get to. */
  reached(): ReadonlySet<NodeId>;
  /** The finite meters of which every visit of the node uses something. */
  bounding(id: NodeId): Bounding;
  /** True if a visit counts even if the node's expressions fail and nothing is requested. */
  countsVisits(id: NodeId): boolean;
  /** The nodes that charge a meter. */
  charging(meter: MeterId): readonly NodeId[];
}

export function graphOf(body: FlowBody, shares: readonly Share[] = []): Graph {
  const nodes = new Map(Object.entries(body.nodes));
  const edges = [...nodes].map(([id, node]): [NodeId, readonly Edge[]] => [
    id,
    edgesOf(node, body.meters, body.fail).filter(({ to }) => nodes.has(to)),
  ]);
  return graphFrom({ body, shares }, nodes, new Map(edges));
}

/** A graph of these nodes and edges. */
export function graphFrom(
  { body, shares }: Pick<Graph, 'body' | 'shares'>,
  nodes: ReadonlyMap<NodeId, Node>,
  edges: ReadonlyMap<NodeId, readonly Edge[]>,
): Graph {
  const ids = [...nodes.keys()];
  const positions = new Map(ids.map((id, index) => [id, index]));
  const targets = new Map([...edges].map(([id, list]) => [id, list.map(({ to }) => to)]));
  const sources = new Map<NodeId, { readonly from: NodeId; readonly kind: Edge['kind'] }[]>(ids.map((id) => [id, []]));
  for (const [from, list] of edges) for (const { to, kind } of list) sources.get(to)?.push({ from, kind });
  const bounding = new Map<NodeId, Bounding>();
  const boundingAt = (id: NodeId): Bounding => {
    const known = bounding.get(id) ?? boundingOf(nodes.get(id) as Node, body.meters);
    bounding.set(id, known);
    return known;
  };
  const charges = ids.flatMap((id) => nodes.get(id)?.charges?.map((meter) => ({ id, meter })) ?? []);
  const charging = Map.groupBy(charges, ({ meter }) => meter);
  let components: readonly Component<NodeId>[] | undefined;
  let reached: ReadonlySet<NodeId> | undefined;
  return {
    body,
    shares,
    ids,
    node: (id) => nodes.get(id) as Node,
    position: (id) => positions.get(id) ?? 0,
    edges: (id) => edges.get(id) ?? [],
    targets: (id) => targets.get(id) ?? [],
    sources: (id) => sources.get(id) ?? [],
    components: () => (components ??= componentsOf(ids, (id) => targets.get(id) ?? [])),
    reached: () => (reached ??= reachableFrom([body.entry], (id) => targets.get(id) ?? [])),
    countsVisits: (id) => boundingAt(id).some(([, meter]) => countsVisits(meter)),
    bounding: boundingAt,
    charging: (meter) => charging.get(meter)?.map(({ id }) => id) ?? [],
  };
}

function boundingOf(node: Node, meters: Meters): Bounding {
  return (node.charges ?? []).flatMap((id) => {
    const meter = meters[id];
    return meter !== undefined && meter.max !== null && alwaysCharged(node, meter) ? [[id, meter] as const] : [];
  });
}

/** A repeats meter bounds nothing: different calls never trip it. Tokens and money may be measured as none. */
function alwaysCharged(node: Node, meter: Meter): boolean {
  const { unit } = meter;
  if (countsVisits(meter)) return true;
  return node.op === 'do' && isCounted(unit) && !isMeasured(unit) && (node.effect.reserve[unit] ?? 0) > 0;
}

/** `error`: the route that the flow declares for a failure. `fault`: the route of an expression that cannot be evaluated. */
type EdgeKind = 'next' | 'case' | 'error' | 'fault' | 'branch' | 'over';
export interface Edge {
  readonly to: NodeId;
  readonly kind: EdgeKind;
}

type Meters = FlowBody['meters'];

/** With the routes of tripped meters. */
export function edgesOf(node: Node, meters: Meters, fail: NodeId): readonly Edge[] {
  const over = (node.charges ?? []).flatMap((id): Edge[] => {
    const meter = meters[id];
    if (meter === undefined || meter.max === null) return [];
    if (meter.unit === 'turns' && meter.records === true && meter.hops === undefined) return [];
    return [{ to: overTarget(node, meter).to, kind: 'over' }];
  });
  return [...ownEdges(node, fail), ...over];
}

/** A let, a pick, a fork or an end whose expression cannot be evaluated goes to `fail`. */
function ownEdges(node: Node, fail: NodeId): readonly Edge[] {
  switch (node.op) {
    case 'let':
      return [
        { to: node.next, kind: 'next' },
        { to: node.fail ?? fail, kind: 'fault' },
      ];
    case 'pick':
      return [...node.cases.map(({ to }): Edge => ({ to, kind: 'case' })), { to: node.otherwise, kind: 'case' }];
    case 'do':
      return [
        { to: node.next, kind: 'next' },
        ...node.failed.map(({ to }): Edge => ({ to, kind: 'error' })),
        { to: node.fail, kind: 'error' },
        ...refusalsOf(node),
      ];
    case 'fork': {
      const heads = 'heads' in node.over ? node.over.heads.map(({ to }) => to) : [node.over.head];
      return [
        { to: node.next, kind: 'next' },
        ...heads.map((to): Edge => ({ to, kind: 'branch' })),
        ...node.failed.map(({ to }): Edge => ({ to, kind: 'error' })),
        { to: node.fail, kind: 'error' },
        { to: fail, kind: 'fault' },
      ];
    }
    case 'end':
      return CANNOT_FAIL.test(node.output) ? [] : [{ to: fail, kind: 'fault' }];
  }
}

/** A call that a control refuses has visited its node, and reserves nothing. */
function refusalsOf({ controls: { refused, stopped } = { walk: [] } }: DoNode): readonly Edge[] {
  return [refused, stopped].flatMap((to): Edge[] => (to === undefined ? [] : [{ to, kind: 'error' }]));
}

/** A path, null, or a choice between two of them by a comparison with null: reading it never fails. */
const CANNOT_FAIL = /^[A-Za-z_][\w.]*( == null \? [A-Za-z_][\w.]* : [A-Za-z_][\w.]*)?$/;
