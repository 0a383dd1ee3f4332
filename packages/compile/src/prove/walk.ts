/**
 * The most and the least under a limit on visits, computed for every number of visits left. The most divides the visits left
 * among the branches of a fork, so it is exact. The least gives each branch all visits left, so it may be too low.
 */
import { countsVisits } from '@sluice-internal/kernel/ir';
import type { Dimension, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import { leastThrough } from './least.ts';
import { mostOf } from './cost.ts';
import { componentsOf } from '../graph/components.ts';
import type { Edge, Graph } from '../graph/graph.ts';

const WORK_MAX = 500_000;

/** Null where it would take too long, or where another meter bounds a cycle. */
export function mostUnderCap(graph: Graph, dimension: Dimension, meter: MeterId): ReadonlyMap<NodeId, number> | null {
  const walk = walkOf(graph, meter);
  if (walk === null) return null;
  const { order, cap } = walk;
  const steps = order.map((id) => stepOf(graph, dimension, id, walk.charged.has(id)));
  // most.get(id)[k]: the most from the node on, where k visits are left.
  const most = new Map<NodeId, number[]>(order.map((id) => [id, []]));
  const at = (id: NodeId, left: number): number => most.get(id)?.[left] ?? 0;
  const highest = (ids: readonly NodeId[], left: number): number => {
    let best = 0;
    for (const id of ids) best = Math.max(best, at(id, left));
    return best;
  };
  const lists = new Map<NodeId, number[]>();
  const hasForks = steps.some(({ node }) => node.op === 'fork');
  let last = 0;
  for (let left = 0; left <= cap; left++) {
    for (const step of steps) {
      const refused = highest(step.refused, left);
      const rest = step.charged ? left - 1 : left;
      most.get(step.id)?.push(rest < 0 ? refused : Math.max(refused, step.cost + afterVisit(step, rest)));
    }
    last = left;
    // Without forks a round depends on the round before only. If one visit more adds nothing, no further visit does.
    if (!hasForks && left > 0 && order.every((id) => at(id, left) === at(id, left - 1))) break;
  }
  return new Map(order.map((id) => [id, at(id, last)]));

  /** The best division of the visits left among the branches and the path after them. */
  function afterVisit({ node, onward: targets }: Step, left: number): number {
    const onward = (rest: number): number => highest(targets, rest);
    if (node.op !== 'fork') return onward(left);
    const { over } = node;
    const parts =
      'heads' in over
        ? over.heads.map(
            ({ to }) =>
              (rest: number) =>
                at(to, rest),
          )
        : [(rest: number) => listMost(over.head, rest)];
    return parts.reduce((sum, part) => divided(sum, part), onward)(left);
  }

  /** The most for any number of branches that begin at the node and share the visits left. */
  function listMost(head: NodeId, left: number): number {
    if (at(head, 0) > 0) return Infinity;
    const known = lists.get(head) ?? [0];
    lists.set(head, known);
    for (let k = known.length; k <= left; k++) {
      let best = 0;
      for (let first = 1; first <= k; first++) best = Math.max(best, at(head, first) + (known[k - first] ?? 0));
      known.push(best);
    }
    return known[left] ?? 0;
  }
}

/** A node as the walk sees it, for every number of visits left. */
interface Step {
  readonly id: NodeId;
  readonly node: Node;
  readonly charged: boolean;
  readonly cost: number;
  readonly refused: readonly NodeId[];
  readonly onward: readonly NodeId[];
}

function stepOf(graph: Graph, dimension: Dimension, id: NodeId, charged: boolean): Step {
  const node = graph.node(id);
  const targets = (refused: boolean): readonly NodeId[] => targetsOf(graph, id, refused);
  return {
    id,
    node,
    charged,
    cost: mostOf(node, dimension, graph.body),
    refused: targets(true),
    onward: targets(false),
  };
}

type MostBy = (left: number) => number;

function divided(one: MostBy, other: MostBy): MostBy {
  const known: number[] = [];
  return (left) => {
    if (known[left] !== undefined) return known[left];
    let best = 0;
    for (let share = 0; share <= left; share++) best = Math.max(best, one(left - share) + other(share));
    known[left] = best;
    return best;
  };
}

function targetsOf(graph: Graph, id: NodeId, refused: boolean): readonly NodeId[] {
  return graph.edges(id).flatMap(({ to, kind }) => (kind !== 'branch' && (kind === 'over') === refused ? [to] : []));
}

interface Walk {
  readonly cap: number;
  /** The nodes that charge the meter. */
  readonly charged: ReadonlySet<NodeId>;
  /** Every node after all nodes that it leads to without a charge. */
  readonly order: readonly NodeId[];
}

function walkOf(graph: Graph, meter: MeterId): Walk | null {
  const cap = graph.body.meters[meter]?.max ?? Infinity;
  const edges = graph.ids.reduce((sum, id) => sum + graph.edges(id).length, 0);
  const forks = graph.ids.filter((id) => graph.node(id).op === 'fork').length;
  if (cap * edges + cap * cap * cap * forks > WORK_MAX) return null;
  const charged = new Set(graph.charging(meter));
  const free = (id: NodeId): readonly NodeId[] =>
    graph.edges(id).flatMap(({ to, kind }) => (charged.has(id) && kind !== 'over' ? [] : [to]));
  const order = componentsOf(graph.ids, free);
  if (order.some(({ cyclic }) => cyclic)) return null;
  return { cap, charged, order: order.flatMap(({ members }) => members) };
}

/**
 * The least that a whole run needs to reach a good end within every limit on visits. Zero where no limit matters or no path is
 * left. A cheapest path visits no node twice, so a limit of at least the number of nodes that charge it never matters.
 */
export function leastUnderCaps(graph: Graph, dimension: Dimension): number {
  let least = 0;
  for (const [id, meter] of Object.entries(graph.body.meters)) {
    if (meter.max === null || !countsVisits(meter)) continue;
    if (meter.max >= graph.charging(id).length) continue;
    const whole = leastUnderCap(graph, dimension, id);
    if (Number.isFinite(whole)) least = Math.max(least, whole);
  }
  return least;
}

/** Infinite where it would take too long, where another meter bounds a cycle, or where no path is left. */
function leastUnderCap(graph: Graph, dimension: Dimension, meter: MeterId): number {
  const walk = walkOf(graph, meter);
  if (walk === null) return Infinity;
  const { cap, charged, order } = walk;
  let less = new Map<NodeId, number>();
  for (let left = 0; left <= cap; left++) {
    const [before, now] = [less, new Map<NodeId, number>()];
    for (const id of order) {
      const refused = targetsOf(graph, id, true).map((to) => now.get(to) ?? 0);
      const then = (to: NodeId, kind: Edge['kind']): number =>
        (charged.has(id) && kind !== 'over' ? before : now).get(to) ?? Infinity;
      const mayVisit = !charged.has(id) || left > 0;
      now.set(id, mayVisit ? leastThrough(graph, dimension, id, then) : Math.min(...refused));
    }
    less = now;
  }
  return less.get(graph.body.entry) ?? Infinity;
}
