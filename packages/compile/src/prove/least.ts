/**
 * The least that must be free in a dimension for a run to get from a node to a good end. A good end completes the run, and
 * not because a budget ran out. Counted dimensions add up along the path. In measured dimensions a call may use less than it
 * reserved, so the least is the largest single reservation on the path. A fork costs the branches that its join needs plus
 * the path after the join.
 */
import { isMeasured } from '@sluice-internal/kernel/ir';
import type { Dimension, DoNode, Expr, ForkNode, Node, NodeId } from '@sluice-internal/kernel/ir';
import { childrenOf, parseExpr } from '@sluice-internal/kernel/expr';
import type { Ast } from '@sluice-internal/kernel/expr';
import { needOf } from './cost.ts';
import type { Edge, Graph } from '../graph/graph.ts';

/** By node; undefined for a node that leads to no end. Empty if no node uses the dimension. */
export type Least = ReadonlyMap<NodeId, number>;

/** `judged`: the run is also verified where its document has a verifier. Early stopping leaves the verifier out. */
export function leastFrom(graph: Graph, dimension: Dimension, judged = false): Least {
  if (graph.ids.every((id) => needOf(graph.node(id), dimension) === 0)) return new Map();
  const least = leastTo(graph, dimension, isGood, judged ? isUnjudged : undefined);
  // Nodes without a path to a good end are measured to any end. Otherwise no run could pass them.
  return least.size === graph.ids.length ? least : new Map([...leastTo(graph, dimension, isEnd), ...least]);
}

/** The least from each node to one of these ends. Nodes come after the nodes that they lead to, so few are looked at twice. */
function leastTo(
  graph: Graph,
  dimension: Dimension,
  ends: (node: Node) => boolean,
  closed: (node: Node) => boolean = () => false,
): Least {
  const least = new Map<NodeId, number>();
  const then = (id: NodeId): number => least.get(id) ?? Infinity;
  const waiting = new Set(graph.components().flatMap(({ members }) => members));
  for (const id of waiting) {
    waiting.delete(id);
    const cost = closed(graph.node(id)) ? Infinity : leastThrough(graph, dimension, id, then, ends);
    if (cost >= then(id)) continue;
    least.set(id, cost);
    for (const { from } of graph.sources(id)) waiting.add(from);
  }
  return least;
}

/** The least from one node on, given the least from each of its targets. */
export function leastThrough(
  graph: Graph,
  dimension: Dimension,
  id: NodeId,
  then: (to: NodeId, kind: Edge['kind']) => number,
  ends: (node: Node) => boolean = isGood,
): number {
  const node = graph.node(id);
  const join = joinOf(dimension);
  let least = ends(node) ? needOf(node, dimension) : Infinity;
  for (const { to, kind } of graph.edges(id)) {
    if (kind === 'branch') continue;
    const after =
      node.op === 'fork' && kind === 'next'
        ? join(
            branchesLeast(node, dimension, (head) => then(head, 'branch')),
            then(to, kind),
          )
        : then(to, kind);
    least = Math.min(least, join(needOn(node, dimension, kind), after));
  }
  return least;
}

/** The amount that must be free to leave a node by an edge. A visit that a meter refuses, or that fails before its call, reserves nothing. */
function needOn(node: Node, dimension: Dimension, kind: Edge['kind']): number {
  if (kind === 'over') return 0;
  return kind === 'error' && dimension !== 'steps' && mayBeRefused(node) ? 0 : needOf(node, dimension);
}

/** The cheapest set of branches that satisfies the join. */
function branchesLeast({ over, need }: ForkNode, dimension: Dimension, least: (head: NodeId) => number): number {
  const heads =
    'heads' in over
      ? over.heads.filter(({ when }) => need !== 'all' || when === undefined).map(({ to }) => least(to))
      : need === 'all'
        ? []
        : Array.from({ length: need }, () => least(over.head));
  if (need !== 'all' && heads.length < need) return Infinity;
  const needed = heads.sort((a, b) => a - b).slice(0, need === 'all' ? heads.length : need);
  return needed.reduce(joinOf(dimension), 0);
}

function joinOf(dimension: Dimension): (a: number, b: number) => number {
  return isMeasured(dimension) ? (a, b) => Math.max(a, b) : (a, b) => a + b;
}

/** True if the document has a verifier. */
export function hasVerifier(graph: Graph): boolean {
  return graph.ids.some((id) => isUnjudged(graph.node(id)));
}

function isUnjudged(node: Node): boolean {
  return node.op === 'let' && node.unjudged === true;
}

function isEnd(node: Node): boolean {
  return node.op === 'end';
}

function isGood(node: Node): boolean {
  return node.op === 'end' && node.state === 'completed' && node.code !== 'BUDGET_EXHAUSTED';
}

/** True where the call may be refused before it is made: invalid arguments, or an expression that cannot be evaluated. */
function mayBeRefused(node: Node): boolean {
  if (node.op !== 'do') return false;
  const before = known.get(node);
  if (before !== undefined) return before;
  const found =
    node.takes !== undefined ||
    node.controls !== undefined ||
    [...Object.values(node.effect.input), ...Object.values(node.undo?.input ?? {})].some(mayFail);
  known.set(node, found);
  return found;
}

/** Cached, because it is needed for every dimension and edge. */
const known = new WeakMap<DoNode, boolean>();

function mayFail(source: Expr): boolean {
  try {
    return !isSafe(parseExpr(source));
  } catch {
    return true;
  }
}

/** True where no data can make the expression fail. */
function isSafe(node: Ast): boolean {
  const safe =
    SAFE.has(node.op) ||
    COMPARISONS.has(node.op) ||
    (node.op === '?:' && COMPARISONS.has(node.args[0].op)) ||
    (node.op === 'call' && node.args[0] === 'text');
  return safe && childrenOf(node).every(isSafe);
}

const SAFE: ReadonlySet<string> = new Set(['value', 'id', '.', '[]', 'list', 'map']);
/** These always give a bool. */
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in']);
