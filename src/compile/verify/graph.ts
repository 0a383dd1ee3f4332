/** A compiled body as a graph that is walked many times: edges computed once, ids that lead nowhere left out. */
import type { FlowBody, Meter, MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { componentsOf } from './components.ts';
import type { Component } from './components.ts';
import { edgesOf } from './edges.ts';
import type { Edge } from './edges.ts';

export interface Graph {
  readonly body: FlowBody;
  readonly ids: readonly NodeId[];
  node(id: NodeId): Node;
  /** Its place in the order of the document. */
  position(id: NodeId): number;
  edges(id: NodeId): readonly Edge[];
  targets(id: NodeId): readonly NodeId[];
  /** Who leads to a node, once for each way. */
  sources(id: NodeId): readonly { readonly from: NodeId; readonly kind: Edge['kind'] }[];
  /** In reverse topological order. */
  components(): readonly Component<NodeId>[];
  /** The finite meters of which every visit of the node uses something. */
  bounding(id: NodeId): readonly (readonly [MeterId, Meter])[];
  /** Whether a visit is counted even where the node's expressions cannot be evaluated, so that nothing is asked for. */
  countsVisits(id: NodeId): boolean;
}

export function graphOf(body: FlowBody): Graph {
  const ids = Object.keys(body.nodes);
  const positions = new Map(ids.map((id, index) => [id, index]));
  const edges = new Map(
    ids.map((id) => [
      id,
      edgesOf(body.nodes[id] as Node, body.meters, body.fail).filter(({ to }) => positions.has(to)),
    ]),
  );
  const targets = new Map([...edges].map(([id, list]) => [id, list.map(({ to }) => to)]));
  const sources = new Map<NodeId, { readonly from: NodeId; readonly kind: Edge['kind'] }[]>(ids.map((id) => [id, []]));
  for (const [from, list] of edges) for (const { to, kind } of list) sources.get(to)?.push({ from, kind });
  let components: readonly Component<NodeId>[] | undefined;
  return {
    body,
    ids,
    node: (id) => body.nodes[id] as Node,
    position: (id) => positions.get(id) ?? 0,
    edges: (id) => edges.get(id) ?? [],
    targets: (id) => targets.get(id) ?? [],
    sources: (id) => sources.get(id) ?? [],
    components: () => {
      components ??= componentsOf(ids, (id) => targets.get(id) ?? []);
      return components;
    },
    countsVisits: (id) => {
      const node = body.nodes[id] as Node;
      return (node.charges ?? []).some((meterId) => {
        const meter = body.meters[meterId];
        return meter !== undefined && meter.max !== null && (meter.unit === 'visits' || meter.unit === 'steps');
      });
    },
    bounding: (id) => {
      const node = body.nodes[id] as Node;
      return (node.charges ?? []).flatMap((meterId) => {
        const meter = body.meters[meterId];
        return meter !== undefined && meter.max !== null && alwaysCharged(node, meter)
          ? [[meterId, meter] as const]
          : [];
      });
    },
  };
}

/** A repeats meter bounds nothing: different calls never trip it. Tokens and money may be measured as none. */
function alwaysCharged(node: Node, { unit }: Meter): boolean {
  if (unit === 'visits' || unit === 'steps') return true;
  if (node.op !== 'do' || unit === 'repeats' || unit === 'rate' || unit === 'time' || MEASURED.has(unit)) return false;
  return (node.effect.reserve[unit] ?? 0) > 0;
}

/** Dimensions that are settled to what was measured; the others are counted as they were reserved. */
export const MEASURED: ReadonlySet<string> = new Set(['inputTokens', 'outputTokens', 'costMicros', 'contextTokens']);
