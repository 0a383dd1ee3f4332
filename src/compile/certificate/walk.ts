/**
 * Walks under a cap on visits, exactly, where the graph is small enough to look at every number of visits left. Branches are
 * each given all that is left, which is more than they can have together: the most is then too high and the least too low,
 * and never the other way round.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import type { MeterId, NodeId } from '../../ir/nodes.ts';
import { leastThrough } from './least.ts';
import { through } from './cost.ts';
import { componentsOf } from '../verify/components.ts';
import type { Edge } from '../verify/graph.ts';
import type { Graph } from '../verify/graph.ts';

const WORK_MAX = 500_000;

/** Null where it would take too long, or where something else bounds the cycles. */
export function mostUnderCap(graph: Graph, dimension: Dimension, meter: MeterId): ReadonlyMap<NodeId, number> | null {
  return underCap(graph, meter, (id, mayVisit, then) =>
    mayVisit
      ? through(graph, dimension, id, (to, kind) => then(to, kind) ?? 0)
      : Math.max(0, ...turnedAway(graph, id, then)),
  );
}

/**
 * The least that a whole run needs to come to a good end within every cap that could stand in its way; zero where none does,
 * or where no way is left. A cheapest way comes by no node twice, so that a cap on no fewer visits than there are nodes to
 * visit is never in its way.
 */
export function leastUnderCaps(graph: Graph, dimension: Dimension): number {
  let least = 0;
  for (const [meter, { unit, max }] of Object.entries(graph.body.meters)) {
    if (max === null || (unit !== 'visits' && unit !== 'steps')) continue;
    if (max >= graph.ids.filter((id) => charges(graph, id, meter)).length) continue;
    const walked = underCap(graph, meter, (id, mayVisit, then) =>
      mayVisit
        ? leastThrough(graph, dimension, id, (to, kind) => then(to, kind) ?? Infinity)
        : Math.min(...turnedAway(graph, id, then)),
    );
    const whole = walked?.get(graph.body.entry) ?? Infinity;
    if (Number.isFinite(whole)) least = Math.max(least, whole);
  }
  return least;
}

type Then = (to: NodeId, kind: Edge['kind']) => number | undefined;

function turnedAway(graph: Graph, id: NodeId, then: Then): readonly number[] {
  return graph.edges(id).flatMap(({ to, kind }) => (kind === 'over' ? [then(to, kind) ?? 0] : []));
}

/** What a thread comes to from each node on with all visits left, where `come` says it for one node and what is after it. */
function underCap(
  graph: Graph,
  meter: MeterId,
  come: (id: NodeId, mayVisit: boolean, then: Then) => number,
): ReadonlyMap<NodeId, number> | null {
  const cap = graph.body.meters[meter]?.max ?? Infinity;
  const edges = graph.ids.reduce((sum, id) => sum + graph.edges(id).length, 0);
  if (cap * edges > WORK_MAX) return null;
  const charged = new Set(graph.ids.filter((id) => charges(graph, id, meter)));
  const free = (id: NodeId): readonly NodeId[] =>
    graph.edges(id).flatMap(({ to, kind }) => (charged.has(id) && kind !== 'over' ? [] : [to]));
  const order = componentsOf(graph.ids, free);
  if (order.some(({ cyclic }) => cyclic)) return null;
  let less = new Map<NodeId, number>();
  for (let left = 0; left <= cap; left++) {
    const now = new Map<NodeId, number>();
    const before = less;
    for (const { members } of order) {
      const [id = ''] = members;
      const then: Then = (to, kind) => (charged.has(id) && kind !== 'over' ? before : now).get(to);
      now.set(id, come(id, !charged.has(id) || left > 0, then));
    }
    less = now;
  }
  return less;
}

function charges(graph: Graph, id: NodeId, meter: MeterId): boolean {
  return graph.node(id).charges?.includes(meter) === true;
}
