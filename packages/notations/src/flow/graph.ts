/** The authored graph: its edges, the nodes of each branch, and the possible order of nodes. */
import { componentsOf, cyclesIn, reachableFrom } from '@sluice-internal/compile/graph';
import { END, type Flow, type FlowEdge } from './model.ts';

export interface FlowGraph {
  readonly edges: ReadonlyMap<string, readonly FlowEdge[]>;
  /** Declared targets only, each as often as it is named. */
  targets(id: string): readonly string[];
  /** Of the targets, the first nodes of branches. */
  heads(id: string): readonly string[];
  /** The other targets: nodes that follow in the same branch. */
  onward(id: string): readonly string[];
  readonly cycles: readonly (readonly string[])[];
  /** True if an edge cannot be read or leads to an unknown node. It may be meant for any node, so the order of nodes is unknown. */
  readonly poisoned: boolean;
  /** By parallel node: everything that can run in one of its branches. */
  readonly inBranches: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * Nodes whose routes are taken after a join or the end of a sub-flow. Data that was lost in a branch may be missing there.
   */
  readonly afterJoins: ReadonlySet<string>;
  /** True if the first node can have run before the second starts or, with `leaving`, before its routes are evaluated. */
  precedes(first: string, second: string, leaving?: boolean): boolean;
  /** True if an error route can have been taken before the node starts or, with `leaving`, before its routes. */
  afterError(id: string, leaving?: boolean): boolean;
}

export function graphOfFlow(flow: Flow): FlowGraph {
  const edges = new Map([...flow.nodes.values()].map((node) => [node.id, node.edges]));
  const followed = new Map([...edges].map(([id, list]) => [id, list.filter(({ to }) => flow.nodes.has(to))]));
  const targets = (id: string): readonly string[] => followed.get(id)?.map(({ to }) => to) ?? [];
  const only = (id: string, branches: boolean): readonly string[] =>
    (followed.get(id) ?? []).flatMap(({ to, kind }) => ((kind === 'branch') === branches ? [to] : []));
  const heads = (id: string): readonly string[] => only(id, true);
  const onward = (id: string): readonly string[] => only(id, false);
  const inBranches = new Map<string, ReadonlySet<string>>();
  for (const id of followed.keys()) if (heads(id).length > 0) inBranches.set(id, reachableFrom(heads(id), targets));
  const nested = [...flow.nodes.values()].flatMap(({ id, facts }) => (facts.subFlow === undefined ? [] : [id]));
  const joins = [...inBranches.keys(), ...nested];
  const later = laterOf(followed, inBranches);
  const poisoned =
    [...flow.nodes.values()].some((node) => node.poisoned('routes') || node.poisoned('on_error')) ||
    [...edges.values()].some((list) => list.some(({ to }) => to !== END && !flow.nodes.has(to)));
  return {
    edges,
    targets,
    heads,
    onward,
    poisoned,
    inBranches,
    afterJoins: new Set([...joins, ...reachableFrom(joins.flatMap(onward), targets)]),
    cycles: cyclesIn(flow.nodes.keys(), targets),
    precedes: (first, second, leaving) => poisoned || later.precedes(first, second, leaving),
    afterError: (id, leaving) => poisoned || later.afterError(id, leaving),
  };
}

/** The nodes and routes that a run can reach. It never takes routes of a terminal, or routes after one that always matches. */
export function taken(graph: FlowGraph, flow: Flow): ReadonlySet<string> {
  const { entry } = flow.value;
  return reachableFrom(flow.nodes.has(entry) ? [entry] : [], (id) => {
    const edges = graph.edges.get(id) ?? [];
    const always = edges.find(({ kind, label }) => kind === 'route' && label === null);
    const last = flow.nodes.get(id)?.facts.leaves === false ? -1 : (always?.index ?? Infinity);
    return edges.flatMap(({ to, kind, index }) =>
      flow.nodes.has(to) && (kind !== 'route' || index <= last) ? [to] : [],
    );
  });
}

/** Above this many pairs of a branch and a node, the threads are not looked at one by one. */
const WORK_MAX = 2_000_000;
const VISITS_DEFAULT = 100;

/** The nodes that are reached from a node without entering the items of another. */
export function scopeFrom(head: string, graph: FlowGraph, flow: Flow): ReadonlySet<string> {
  return reachableFrom([head], (id) => {
    const inner = flow.nodes.get(id)?.facts.items !== undefined;
    return (graph.edges.get(id) ?? []).flatMap(({ to, kind }) =>
      flow.nodes.has(to) && !(inner && kind === 'branch') ? [to] : [],
    );
  });
}

export function visitsMaxOf(flow: Flow, graph: FlowGraph): (id: string) => number {
  const cap = flow.value.max_iterations > 0 ? flow.value.max_iterations : cappedByNodes(flow, graph);
  let visits: ((id: string) => number) | undefined;
  return (id) => {
    visits ??= threadsPassing(flow, graph, cap);
    return Math.max(1, Math.min(visits(id), cap));
  };
}

/**
 * Without `max_iterations`, every cycle has a node with `max_visits`: each of its visits starts one more walk. An empty map
 * takes none away.
 */
function cappedByNodes(flow: Flow, { edges, cycles, inBranches }: FlowGraph): number {
  if (cycles.length === 0) return Infinity;
  const visits = [...flow.nodes.values()].reduce((sum, { value }) => sum + (value.max_visits ?? 0), 1);
  const branches = [...edges.values()].flat().filter(({ kind }) => kind === 'branch').length;
  return [...inBranches.keys()].reduce(
    (product, id) => product * Math.max(1, runsOfBranch(flow, id)),
    visits * (1 + branches),
  );
}

/** The number of times that one visit of a node runs each of its branches: once per item and attempt. */
function runsOfBranch(flow: Flow, id: string): number {
  const node = flow.nodes.get(id);
  return (node?.facts.items?.(node.value).most ?? 1) * (node?.value.retry?.max_attempts ?? 1);
}

/** A thread passes a node once, unless the node lies on a cycle: then the cap of the flow limits its visits. */
function threadsPassing(
  flow: Flow,
  { heads: headsOf, onward, cycles }: FlowGraph,
  cap: number,
): (id: string) => number {
  const heads = [...flow.nodes.keys()].flatMap((from) => headsOf(from).map((to) => ({ from, to })));
  if (heads.length * flow.nodes.size > WORK_MAX) return () => (cycles.length > 0 ? cap : VISITS_DEFAULT);
  const run = reachableFrom([flow.value.entry], onward);
  const threads = heads.map(({ from, to }) => ({ from, passes: reachableFrom([to], onward) }));
  const known = new Map(cycles.flat().map((id) => [id, cap]));
  const visits = (id: string): number => {
    let count = known.get(id);
    if (count !== undefined) return count;
    count = run.has(id) ? 1 : 0;
    for (const { from, passes } of threads) if (passes.has(id)) count += visits(from) * runsOfBranch(flow, from);
    known.set(id, count);
    return count;
  };
  return visits;
}

/** After this many questions about a node, all its later nodes are stored. */
const ASKED_MAX = 3;

function laterOf(
  edges: ReadonlyMap<string, readonly FlowEdge[]>,
  inBranches: ReadonlyMap<string, ReadonlySet<string>>,
): Pick<FlowGraph, 'precedes' | 'afterError'> {
  const steps = stepsOf(edges, inBranches);
  const next = (id: string): readonly string[] => steps.get(id) ?? [];
  const order = new Map<string, { readonly rank: number; readonly cyclic: boolean }>();
  for (const [rank, { members, cyclic }] of componentsOf(steps.keys(), next).entries())
    for (const id of members) order.set(id, { rank, cyclic });
  const asked = new Map<string, number>();
  const known = new Map<string, ReadonlySet<string>>();
  let handled: ReadonlySet<string> | undefined;

  /** Ranks fall along every edge, so nothing beyond the target's rank can lead to it. */
  const search = (first: string, second: string, lowest: number): boolean => {
    const near = (id: string): readonly string[] => next(id).filter((to) => (order.get(to)?.rank ?? -1) >= lowest);
    return reachableFrom(near(first), near).has(second);
  };

  /** The routes of a parallel node are looked at after its join. */
  const pointOf = (id: string, leaving: boolean): string => (leaving && inBranches.has(id) ? joinOf(id) : id);

  return {
    precedes(first, node, leaving = false) {
      const second = pointOf(node, leaving);
      const [a, b] = [order.get(first), order.get(second)];
      if (a === undefined || b === undefined || b.rank > a.rank) return false;
      if (a.rank === b.rank) return a.cyclic;
      if (next(first).includes(second)) return true;
      const times = (asked.get(first) ?? 0) + 1;
      asked.set(first, times);
      if (times < ASKED_MAX) return search(first, second, b.rank);
      const after = known.get(first) ?? reachableFrom(next(first), next);
      known.set(first, after);
      return after.has(second);
    },
    afterError(id, leaving = false) {
      handled ??= reachableFrom(
        [...edges.values()].flat().flatMap(({ kind, to }) => (kind === 'error' ? [to] : [])),
        next,
      );
      return handled.has(pointOf(id, leaving));
    },
  };
}

function stepsOf(
  edges: ReadonlyMap<string, readonly FlowEdge[]>,
  inBranches: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, readonly string[]> {
  const steps = new Map<string, string[]>();
  for (const [id, list] of edges) {
    const [heads, onward] = [
      list.filter(({ kind }) => kind === 'branch'),
      list.filter(({ kind }) => kind !== 'branch'),
    ];
    const after = onward.map(({ to }) => to);
    if (!inBranches.has(id)) steps.set(id, after);
    else {
      steps.set(id, [joinOf(id), ...heads.map(({ to }) => to)]);
      steps.set(joinOf(id), after);
    }
  }
  for (const [id, members] of inBranches) for (const member of members) steps.get(member)?.push(joinOf(id));
  return steps;
}

function joinOf(id: string): string {
  return `\u0000${id}`;
}
