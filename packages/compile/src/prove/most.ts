/**
 * The most that a run can use from each node on. For the whole run: the linear program; an exact walk if one small limit
 * counts all costly visits; that limit alone if the program is too large. A part of a run uses at most as much as the run, and
 * at most as much as its longest path.
 */
import { countsVisits, dimensionRow, isCounted } from '@sluice-internal/kernel/ir';
import type { Dimension, DoNode, MeterId, Node, NodeId, ForkNode, Meter } from '@sluice-internal/kernel/ir';
import type { Graph, Edge, Share } from '../graph/graph.ts';
import { reachableFrom } from '../graph/components.ts';
import { mostOf, times, needOf, repeatedIn, type Repeated } from './cost.ts';
import { mostUnderCap } from './walk.ts';
import { maximise, type Row } from './linear.ts';

export function mostWithin(graph: Graph, dimension: Dimension): (id: NodeId) => number {
  const costs = new Map<NodeId, number>();
  for (const id of graph.ids) {
    const cost = mostOf(graph.node(id), dimension, graph.body);
    if (cost > 0) costs.set(id, cost);
  }
  if (costs.size === 0) return () => 0;
  const paths = longestPaths(graph, (id) => costs.get(id) ?? 0);
  const shared = sharedMeter(graph, costs);
  const walked = shared === null ? null : mostUnderCap(graph, dimension, shared.meter);
  const { entry } = graph.body;
  const whole = Math.min(
    paths.get(entry) ?? Infinity,
    mostOfRun(graph, dimension, costs),
    shared?.most ?? Infinity,
    walked?.get(entry) ?? Infinity,
  );
  return (id) => Math.min(whole, paths.get(id) ?? Infinity, walked?.get(id) ?? Infinity);
}

/** The costliest path from each node, without regard to limits. Infinite where a cycle costs anything, branches included. */
function longestPaths(graph: Graph, cost: (id: NodeId) => number): ReadonlyMap<NodeId, number> {
  const paths = new Map<NodeId, number>();
  const most = (id: NodeId): number => paths.get(id) ?? 0;
  const own = (id: NodeId): number => cost(id) + branchesMost(graph.node(id), most);
  const onward = (id: NodeId): number => {
    let max = 0;
    for (const { to, kind } of graph.edges(id)) if (kind !== 'branch') max = Math.max(max, most(to));
    return max;
  };
  for (const { members, cyclic } of graph.components()) {
    if (cyclic) {
      const after = Math.max(...members.map(onward));
      // A fork inside its own branch continues after the join as often as it is entered.
      const isRepeated = members.some((id) => own(id) > 0) || (after > 0 && hasOwnBranch(graph, members));
      const path = isRepeated ? Infinity : after;
      for (const id of members) paths.set(id, path);
    } else for (const id of members) paths.set(id, own(id) + onward(id));
  }
  return paths;
}

function hasOwnBranch(graph: Graph, members: readonly NodeId[]): boolean {
  const inside = new Set(members);
  return members.some((id) => graph.edges(id).some(({ to, kind }) => kind === 'branch' && inside.has(to)));
}

/** All branches of a fork together. A list may have any length. */
function branchesMost(node: Node, most: (id: NodeId) => number): number {
  if (node.op !== 'fork') return 0;
  if ('heads' in node.over) return node.over.heads.reduce((sum, { to }) => sum + most(to), 0);
  return times(Infinity, most(node.over.head));
}

/** The tightest limit on visits that every costly visit charges, on every path. */
function sharedMeter(
  graph: Graph,
  costs: ReadonlyMap<NodeId, number>,
): { readonly meter: MeterId; readonly most: number } | null {
  const costly = [...costs.keys()];
  const meters = costly.map((id) =>
    graph.bounding(id).flatMap(([meterId, meter]) => (countsVisits(meter) ? [meterId] : [])),
  );
  const common = meters.reduce((shared, charged) => shared.filter((meter) => charged.includes(meter)), meters[0] ?? []);
  const cost = costly.reduce((most, id) => Math.max(most, costs.get(id) ?? 0), 0);
  const limits = common.map((meter) => ({ meter, most: times(graph.body.meters[meter]?.max ?? Infinity, cost) }));
  return limits.sort((a, b) => a.most - b.most)[0] ?? null;
}

/** The most that compensations after failed runs use: one call, and its price, for each call that registers one. */
export function undoneMost(graph: Graph, dimension: Dimension, callsMax: number): (id: NodeId) => number {
  if (dimension === 'undoCalls') return undoCalls(graph, callsMax, () => true);
  if (dimension !== 'costMicros') return () => 0;
  const prices = new Set(graph.ids.flatMap((id) => undoOf(graph.node(id))?.costMicros ?? []));
  // The budget of money does not hold compensations, so the calls are counted.
  const counts = [...prices].map(
    (price) => [price, undoCalls(graph, callsMax, ({ costMicros }) => costMicros === price)] as const,
  );
  return (id) => counts.reduce((sum, [price, calls]) => sum + times(calls(id), price), 0);
}

type Undo = NonNullable<DoNode['undo']>;

function undoOf(node: Node): Undo | undefined {
  return node.op === 'do' ? node.undo : undefined;
}

function undoCalls(graph: Graph, callsMax: number, counts: (undo: Undo) => boolean): (id: NodeId) => number {
  const undoing = (id: NodeId): ReturnType<Graph['node']> => {
    const node = graph.node(id);
    if (node.op !== 'do') return node;
    const reserve = { toolCalls: node.undo !== undefined && counts(node.undo) ? 1 : 0 };
    return { ...node, effect: { kind: 'check', check: '', input: {}, reserve }, retry: { ...node.retry, max: 0 } };
  };
  const most = mostWithin({ ...graph, node: undoing }, 'toolCalls');
  return (id) => Math.min(most(id), callsMax);
}

/**
 * The most of a whole run, as a linear program, given the most of one visit of each node that costs anything. Its variables are
 * the visits of nodes and of edges. A thread leaves a node as often as it arrives there, a fork starts each of its branches once
 * per visit, and every meter limits the visits that charge it. A refused visit does not count, so a question to a person and the
 * edge back to the refused call cost nothing.
 */
function mostOfRun(graph: Graph, dimension: Dimension, costs: ReadonlyMap<NodeId, number>): number {
  // A visit that a limit of 0 always refuses costs nothing.
  const costly = [...costs.keys()].filter((id) => !graph.bounding(id).some(([, { max }]) => max === 0));
  if (costly.length === 0) return 0;
  const limited = new Map(costly.map((id) => [id, ownLimits(graph, id, dimension)]));
  // A node of unknown cost whose use no budget limits makes every path to it unlimited.
  const endless = costly.filter((id) => costs.get(id) === Infinity && limited.get(id)?.length === 0);
  const reached = graph.reached();
  if (endless.some((id) => reached.has(id))) return Infinity;
  const isWhole = costly.every((id) => Number.isInteger(costs.get(id)) || costs.get(id) === Infinity);
  const program = new Program(graph, waysOf(graph, costly));
  for (const id of costly) {
    if (!reached.has(id)) continue;
    const [cost, limits] = [costs.get(id) ?? 0, limited.get(id) ?? []];
    const repeated = isRationed(graph, id, dimension) ? repeatedIn(graph.node(id), dimension, graph.body) : null;
    program.use(id, { cost: repeated === null ? cost : cost - repeated.all, limits });
    if (repeated !== null) program.repeat(id, { cost: repeated.all, limits }, repeated);
  }
  const most = program.solve();
  return isWhole && Number.isFinite(most) ? Math.floor(most + TOLERANCE) : most;
}

const TOLERANCE = 1e-4;
const SIZE_MAX = 500_000;

/** The budgets of this dimension that the node charges: of the run, of an agent, of a stage. */
function ownLimits(graph: Graph, id: NodeId, dimension: Dimension): Meters {
  return (graph.node(id).charges ?? []).flatMap((meterId) => {
    const meter = graph.body.meters[meterId];
    const limits = meter?.unit === dimension && meter.max !== null && meter.perMs === undefined;
    return limits && dimension !== 'steps' ? [[meterId, meter] as const] : [];
  });
}

/** The graph without the nodes that do not matter: a step goes from one kept node to the next. */
interface Ways {
  readonly kept: ReadonlySet<NodeId>;
  /** The first kept nodes on the paths that begin at a node, itself included. */
  from(id: NodeId): readonly NodeId[];
  /** The first kept nodes on the paths that leave a node. */
  after(id: NodeId): readonly NodeId[];
}

/** Mostly the same nodes cost something in several dimensions. */
const knownWays = new WeakMap<Graph, Map<string, Ways>>();

function waysOf(graph: Graph, costly: readonly NodeId[]): Ways {
  const known = knownWays.get(graph) ?? new Map<string, Ways>();
  knownWays.set(graph, known);
  const key = costly.join('\n');
  const ways = known.get(key) ?? newWays(graph, new Set(costly));
  known.set(key, ways);
  return ways;
}

/** Keeps what costs or counts, and the forks, as far as something that costs can come after it. */
function newWays(graph: Graph, costly: ReadonlySet<NodeId>): Ways {
  const leading = reachableFrom([...costly], (id) => graph.sources(id).map(({ from }) => from));
  const shared = new Set(
    graph.shares.flatMap(({ counted, of }) => [...of, ...(typeof counted === 'string' ? [] : counted)]),
  );
  const marked = (id: NodeId): boolean =>
    costly.has(id) || shared.has(id) || graph.bounding(id).length > 0 || graph.node(id).op === 'fork';
  const kept = new Set(graph.ids.filter((id) => leading.has(id) && marked(id)));
  const from = remembered((id) =>
    [...reachableFrom([id], (each) => (kept.has(each) ? [] : graph.targets(each)))].filter((each) => kept.has(each)),
  );
  const after = remembered((id) => [...new Set(graph.targets(id).flatMap(from))]);
  return { kept, from, after };
}

function remembered(find: (id: NodeId) => readonly NodeId[]): (id: NodeId) => readonly NodeId[] {
  const known = new Map<NodeId, readonly NodeId[]>();
  return (id) => {
    const found = known.get(id) ?? find(id);
    known.set(id, found);
    return found;
  };
}

interface Use {
  readonly cost: number;
  /** The budgets of the dimension. */
  readonly limits: Meters;
}
type Meters = readonly (readonly [MeterId, Meter])[];

/** A budget of another dimension limits the attempts after the first. */
function isRationed(graph: Graph, id: NodeId, dimension: Dimension): boolean {
  return (
    (dimension !== 'retries' && retriesOf(graph, id).length > 0) ||
    graph.bounding(id).some(([, { unit }]) => unit !== dimension && isSent(unit))
  );
}

/** Every attempt counts towards a budget of this unit. */
function isSent(unit: Meter['unit']): unit is Dimension {
  return isCounted(unit) && dimensionRow(unit).charged === 'attempt';
}

/** The budgets of retries that the node charges. */
function retriesOf(graph: Graph, id: NodeId): Meters {
  return ownLimits(graph, id, 'retries');
}

/** The rows of the program. One thread begins at the entry. */
class Program {
  readonly #graph: Graph;
  readonly #rows: Row[] = [];
  readonly #objective = new Map<number, number>();
  readonly #visits = new Map<NodeId, number>();
  readonly #budgets = new Map<MeterId, { readonly terms: Map<number, number>; readonly limit: number }>();
  /** The row of each meter that counts visits or attempts. */
  readonly #counts = new Map<MeterId, Map<number, number>>();
  #variables = 0;

  constructor(graph: Graph, ways: Ways) {
    this.#graph = graph;
    const begun = new Map(ways.from(graph.body.entry).map((id) => [id, this.#variable()]));
    const reached = [...reachableFrom(begun.keys(), ways.after)];
    for (const id of reached) this.#visits.set(id, this.#variable());
    const arrivals = new Map(reached.map((id) => [id, new Map([[this.#visit(id), 1]])]));
    for (const [id, variable] of begun) arrivals.get(id)?.set(variable, -1);
    this.#limit(new Map([...begun.values()].map((variable) => [variable, 1])), 1);
    for (const id of reached) this.#leave(id, ways, arrivals);
    for (const terms of arrivals.values()) this.#limit(terms, 0);
    this.#meters(reached);
    for (const share of graph.shares) this.#share(share);
  }

  /** Adds the use of a node's visits to the total and to the budgets of the same dimension. */
  use(id: NodeId, { cost, limits }: Use): number | null {
    if (!this.#visits.has(id) || cost === 0) return null;
    const used = this.#variable();
    this.#objective.set(used, 1);
    if (cost !== Infinity) this.#atMost(used, cost, this.#visit(id));
    for (const [meter, { max }] of limits) this.#budget(meter, max, used);
    return used;
  }

  /** The attempts after the first also count towards the budget of retries, and towards every budget of calls. */
  repeat(id: NodeId, use: Use, { count, each }: Repeated): void {
    const used = this.use(id, use);
    if (used === null) return;
    const attempts = this.#variable();
    this.#atMost(attempts, count, this.#visit(id));
    this.#atMost(used, each, attempts);
    // Of the dimension `retries`, `use` has counted them.
    const counted = new Set(use.limits.map(([meter]) => meter));
    for (const [meter, { max }] of retriesOf(this.#graph, id))
      if (!counted.has(meter)) this.#budget(meter, max, attempts);
    for (const [meter, { unit }] of this.#graph.bounding(id))
      if (isSent(unit)) this.#counts.get(meter)?.set(attempts, needOf(this.#graph.node(id), unit));
  }

  /** Infinite if the program is too large to be solved in reasonable time. */
  solve(): number {
    if (this.#rows.length * this.#variables > SIZE_MAX) return Infinity;
    return maximise(this.#objective, [...this.#rows, ...this.#budgets.values()], this.#variables);
  }

  #variable(): number {
    return this.#variables++;
  }

  #visit(id: NodeId): number {
    return this.#visits.get(id) as number;
  }

  /** One variable is at most a multiple of another. */
  #atMost(one: number, factor: number, other: number): void {
    this.#limit(
      new Map([
        [one, 1],
        [other, -factor],
      ]),
      0,
    );
  }

  #budget(meter: MeterId, max: number | null, used: number): void {
    const budget = this.#budgets.get(meter) ?? { terms: new Map<number, number>(), limit: max ?? Infinity };
    budget.terms.set(used, 1);
    this.#budgets.set(meter, budget);
  }

  #limit(terms: ReadonlyMap<number, number>, limit: number): void {
    this.#rows.push({ terms, limit });
  }

  /** Each visit leaves the node once. A refused visit leaves it too, and is not counted. */
  #leave(id: NodeId, ways: Ways, arrivals: ReadonlyMap<NodeId, Map<number, number>>): void {
    const { paid, unpaid } = exitsOf(this.#graph, id, ways);
    const left = new Map([[this.#visit(id), -1]]);
    const arrive = (to: NodeId): number => {
      const way = this.#variable();
      arrivals.get(to)?.set(way, -1);
      return way;
    };
    for (const to of paid) left.set(arrive(to), 1);
    if (paid.length > 0) this.#limit(left, 0);
    for (const to of unpaid) if (to !== id) arrivals.get(id)?.set(arrive(to), 1);
    const node = this.#graph.node(id);
    if (node.op === 'fork') for (const branch of branchesOf(node)) this.#fork(id, branch, ways, arrive);
  }

  #fork(id: NodeId, { head, times }: Branch, ways: Ways, arrive: (to: NodeId) => number): void {
    const begun = new Map(ways.from(head).map((to) => [arrive(to), 1]));
    // The length of a list is not known, so only the meters of the branch limit its threads.
    if (times === Infinity || begun.size === 0) return;
    begun.set(this.#visit(id), -times);
    this.#limit(begun, 0);
  }

  #meters(reached: readonly NodeId[]): void {
    for (const id of reached)
      for (const [meter, { max, unit }] of this.#graph.bounding(id)) {
        const each = isCounted(unit) ? Math.max(1, needOf(this.#graph.node(id), unit)) : 1;
        let terms = this.#counts.get(meter);
        if (terms === undefined) {
          terms = new Map();
          this.#counts.set(meter, terms);
          this.#limit(terms, max ?? Infinity);
        }
        terms.set(this.#visit(id), each);
      }
  }

  #share({ counted, of, max, atStart }: Share): void {
    const nodes = typeof counted === 'string' ? this.#graph.charging(counted) : counted;
    const terms = new Map<number, number>();
    for (const id of nodes) if (this.#visits.has(id)) terms.set(this.#visit(id), 1);
    for (const id of of) if (this.#visits.has(id)) terms.set(this.#visit(id), -max);
    this.#limit(terms, atStart);
  }
}

interface Branch {
  readonly head: NodeId;
  readonly times: number;
}

function branchesOf({ over }: ForkNode): readonly Branch[] {
  return 'heads' in over
    ? over.heads.map(({ to }) => ({ head: to, times: 1 }))
    : [{ head: over.head, times: lengthOf(over.each) }];
}

/** The length of a list that is written in the document. */
function lengthOf(list: string): number {
  if (!list.startsWith('[')) return Infinity;
  try {
    const value: unknown = JSON.parse(list);
    return Array.isArray(value) ? value.length : Infinity;
  } catch {
    return Infinity;
  }
}

/** A visit that a meter refuses is not counted. Neither is a call that fails before it reserves anything. */
function exitsOf(graph: Graph, id: NodeId, ways: Ways): { paid: readonly NodeId[]; unpaid: readonly NodeId[] } {
  const isFree = ({ kind }: Edge): boolean =>
    kind === 'over' || (!graph.countsVisits(id) && (kind === 'error' || kind === 'fault'));
  const edges = graph.edges(id).filter(({ kind }) => kind !== 'branch');
  const targets = (list: readonly Edge[]): readonly NodeId[] => [...new Set(list.flatMap(({ to }) => ways.from(to)))];
  return { paid: targets(edges.filter(({ kind }) => kind !== 'over')), unpaid: targets(edges.filter(isFree)) };
}
