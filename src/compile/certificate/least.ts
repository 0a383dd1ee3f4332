/**
 * The least that must be free in a dimension for a run to get from a node to a good end. A good end completes the run, and
 * not because a budget ran out. Counted dimensions add up along the path. In measured dimensions a call may use less than it
 * reserved, so the least is the largest single reservation on the path.
 *
 * The algorithm is Knuth's generalisation of Dijkstra's shortest paths: a fork costs the branches that its join needs plus
 * the path after the join, which is never less than one of its parts.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import type { DoNode, Expr, ForkNode, Node, NodeId } from '../../ir/nodes.ts';
import { needOf } from './cost.ts';
import type { Edge, Graph } from '../verify/graph.ts';
import { isMeasured } from '../../ir/dimensions.ts';
import { childrenOf } from '../../expr/ast.ts';
import { parseExpr } from '../../expr/parse.ts';
import type { Ast } from '../../expr/parse.ts';

export function leastFrom(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
  const users = new Set(graph.ids.filter((id) => needOf(graph.node(id), dimension) > 0));
  if (users.size === 0) return new Map();
  const ends = graph.ids.filter((id) => graph.node(id).op === 'end');
  const good = ends.filter((id) => isGood(graph, id));
  const least = shortest(graph, dimension, users, good);
  if (least.size === graph.ids.length) return least;
  // Nodes that lead to no good end are measured to any end, so a run there is not stopped for a path that does not exist.
  return new Map([...shortest(graph, dimension, users, ends), ...least]);
}

/** The least from one node on, given the least from each of its targets. */
export function leastThrough(
  graph: Graph,
  dimension: Dimension,
  id: NodeId,
  then: (to: NodeId, kind: Edge['kind']) => number,
): number {
  const node = graph.node(id);
  const join = joinOf(dimension);
  let least = isGood(graph, id) ? needOf(node, dimension) : Infinity;
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
  return kind === 'error' && dimension !== 'steps' && mayGoUnasked(node) ? 0 : needOf(node, dimension);
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

function isGood(graph: Graph, id: NodeId): boolean {
  const node = graph.node(id);
  return node.op === 'end' && node.state === 'completed' && node.code !== 'BUDGET_EXHAUSTED';
}

function shortest(
  graph: Graph,
  dimension: Dimension,
  users: ReadonlySet<NodeId>,
  ends: readonly NodeId[],
): Map<NodeId, number> {
  const final = new Map<NodeId, number>();
  const best = new Map<NodeId, number>();
  const queue = new Heap<NodeId>();
  const forks = new Map<NodeId, Need>();
  const join = joinOf(dimension);
  const offer = (cost: number, id: NodeId): void => {
    const known = best.get(id);
    if (known !== undefined && known <= cost) return;
    best.set(id, cost);
    queue.push(cost, id);
  };
  for (const id of ends) offer(needOf(graph.node(id), dimension), id);
  for (const id of graph.ids) {
    const node = graph.node(id);
    if (node.op === 'fork') forks.set(id, needOfFork(node));
  }
  const relax = (from: NodeId, kind: Edge['kind'], to: NodeId, cost: number): void => {
    const fork = kind === 'next' || kind === 'branch' ? forks.get(from) : undefined;
    if (fork === undefined)
      return offer(users.has(from) ? join(needOn(graph.node(from), dimension, kind), cost) : cost, from);
    const whole = payFork(fork, kind, to, cost, dimension);
    if (whole !== null) offer(join(needOf(graph.node(from), dimension), whole), from);
  };
  for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
    if (final.has(top.item)) continue;
    final.set(top.item, top.key);
    for (const { from, kind } of graph.sources(top.item)) if (!final.has(from)) relax(from, kind, top.item, top.key);
  }
  return final;
}

/** Adds a branch, or the path after the join, to the cost of a fork. Null while parts of it are unknown. */
function payFork(fork: Need, kind: Edge['kind'], to: NodeId, cost: number, dimension: Dimension): number | null {
  const join = joinOf(dimension);
  if (kind === 'next') fork.after = cost;
  else if (fork.wanted(to)) {
    fork.spent = join(fork.spent, isMeasured(dimension) ? cost : cost * (fork.times ?? 1));
    fork.left -= 1;
  }
  return fork.after !== null && fork.left <= 0 ? join(fork.spent, fork.after) : null;
}

interface Need {
  /** The number of branches that are not counted yet. The cheapest are counted first. */
  left: number;
  spent: number;
  after: number | null;
  readonly times?: number;
  wanted(head: NodeId): boolean;
}

/** A branch with a condition may be left out, and a list may be empty. */
function needOfFork({ over, need }: ForkNode): Need {
  if (!('heads' in over)) {
    const times = need === 'all' ? 0 : need;
    return { left: times === 0 ? 0 : 1, spent: 0, after: null, times, wanted: () => times > 0 };
  }
  const sure = need === 'all' ? over.heads.filter(({ when }) => when === undefined) : over.heads;
  const counts = new Map<NodeId, number>();
  for (const { to } of sure) counts.set(to, (counts.get(to) ?? 0) + 1);
  const state: Need = {
    left: need === 'all' ? sure.length : need,
    spent: 0,
    after: null,
    wanted: (head) => {
      const rest = counts.get(head) ?? 0;
      counts.set(head, rest - 1);
      return rest > 0 && state.left > 0;
    },
  };
  return state;
}

class Heap<Item> {
  readonly #items: { readonly key: number; readonly item: Item }[] = [];

  push(key: number, item: Item): void {
    const items = this.#items;
    let at = items.length;
    items.push({ key, item });
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((items[parent]?.key ?? 0) <= key) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): { readonly key: number; readonly item: Item } | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < items.length && this.#key(left) < this.#key(least)) least = left;
      if (right < items.length && this.#key(right) < this.#key(least)) least = right;
      if (least === at) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  #key(at: number): number {
    return this.#items[at]?.key ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b] as (typeof items)[number], items[a] as (typeof items)[number]];
  }
}

/** True where the call may be refused before it is made: invalid arguments, or an expression that cannot be evaluated. */
function mayGoUnasked(node: Node): boolean {
  if (node.op !== 'do') return false;
  const before = known.get(node);
  if (before !== undefined) return before;
  const found =
    node.takes !== undefined ||
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
