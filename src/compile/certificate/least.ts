/**
 * The least that must be free in a dimension for a run to get from a node to a good end. A good end completes the run, and
 * not because a budget ran out. Counted dimensions add up along the path. In measured dimensions a call may use less than it
 * reserved, so the least is the largest single reservation on the path.
 *
 * The algorithm is Knuth's generalisation of Dijkstra's shortest paths: a fork costs the branches that its join needs plus
 * the path after the join, which is never less than one of its parts.
 */
import { isMeasured, type Dimension } from '../../ir/dimensions.ts';
import type { DoNode, Expr, ForkNode, Node, NodeId } from '../../ir/nodes.ts';
import { needOf } from './cost.ts';
import type { Edge, Graph } from '../verify/graph.ts';
import { childrenOf } from '../../expr/ast.ts';
import { parseExpr, type Ast } from '../../expr/parse.ts';

/** By node; undefined for a node that leads to no end. Empty if no node uses the dimension. */
export type Least = Pick<ReadonlyMap<NodeId, number>, 'get' | 'size'>;

export function leastFrom(graph: Graph, dimension: Dimension): Least {
  const needs = graph.ids.map((id) => needOf(graph.node(id), dimension));
  if (needs.every((need) => need === 0)) return NOTHING;
  const numbered = numberedOf(graph);
  const least = shortest(numbered, dimension, needs, numbered.good);
  // Nodes that lead to no good end are measured to any end, so a run there is not stopped for a path that does not exist.
  if (least.includes(UNKNOWN)) {
    const any = shortest(numbered, dimension, needs, numbered.ends);
    for (const [at, cost] of any.entries()) if (least[at] === UNKNOWN) least[at] = cost;
  }
  return {
    size: least.filter((cost) => cost !== UNKNOWN).length,
    get: (id) => {
      const cost = least[numbered.numbers.get(id) ?? -1] ?? UNKNOWN;
      return cost === UNKNOWN ? undefined : cost;
    },
  };
}

const NOTHING: Least = new Map();
const UNKNOWN = -1;

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

/** A graph whose nodes are numbers: every dimension walks all edges. */
interface Numbered {
  readonly nodes: readonly Node[];
  readonly ids: readonly NodeId[];
  readonly numbers: ReadonlyMap<NodeId, number>;
  readonly sources: readonly (readonly { readonly from: number; readonly kind: Edge['kind'] }[])[];
  readonly ends: readonly number[];
  readonly good: readonly number[];
}

const numberedGraphs = new WeakMap<Graph, Numbered>();

function numberedOf(graph: Graph): Numbered {
  const known = numberedGraphs.get(graph) ?? newNumbered(graph);
  numberedGraphs.set(graph, known);
  return known;
}

function newNumbered(graph: Graph): Numbered {
  const { ids } = graph;
  const numbers = new Map(ids.map((id, at) => [id, at]));
  const ends = ids.flatMap((id, at) => (graph.node(id).op === 'end' ? [at] : []));
  return {
    nodes: ids.map(graph.node),
    ids,
    numbers,
    sources: ids.map((id) => graph.sources(id).map(({ from, kind }) => ({ from: numbers.get(from) as number, kind }))),
    ends,
    good: ends.filter((at) => isGood(graph, ids[at] as NodeId)),
  };
}

/** The cost from each node to the nearest of these ends. */
function shortest(
  { nodes, ids, sources }: Numbered,
  dimension: Dimension,
  needs: readonly number[],
  ends: readonly number[],
): Float64Array {
  const best = new Float64Array(nodes.length).fill(UNKNOWN);
  const final = new Uint8Array(nodes.length);
  const queue = new Heap<number>();
  // Most nodes cost nothing: nodes of the same cost as the current one need no order.
  const level: number[] = [];
  let current = UNKNOWN;
  const forks = new Map<number, Need>();
  for (const [at, node] of nodes.entries()) if (node.op === 'fork') forks.set(at, needOfFork(node));
  const join = joinOf(dimension);
  const offer = (cost: number, at: number): void => {
    const known = best[at] as number;
    if (known !== UNKNOWN && known <= cost) return;
    best[at] = cost;
    if (cost === current) level.push(at);
    else queue.push(cost, at);
  };
  const relax = (from: number, kind: Edge['kind'], to: number, cost: number): void => {
    const need = needs[from] as number;
    const fork = kind === 'next' || kind === 'branch' ? forks.get(from) : undefined;
    if (fork === undefined)
      return offer(need === 0 ? cost : join(needOn(nodes[from] as Node, dimension, kind), cost), from);
    const whole = payFork(fork, kind, ids[to] as NodeId, cost, dimension);
    if (whole !== null) offer(join(need, whole), from);
  };
  for (const at of ends) offer(needs[at] as number, at);
  for (;;) {
    const at = level.pop() ?? queue.pop()?.item;
    if (at === undefined) return best;
    if (final[at] === 1) continue;
    final[at] = 1;
    current = best[at] as number;
    for (const { from, kind } of sources[at] ?? []) if (final[from] === 0) relax(from, kind, at, current);
  }
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
