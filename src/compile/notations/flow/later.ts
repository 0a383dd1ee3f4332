/**
 * What can have happened before what. A branch's nodes come before what follows the join, but not before a sibling's: each
 * parallel node gets a point of its own for the join, to which all that runs in its branches leads.
 */
import { componentsOf, reachableFrom } from '../../verify/components.ts';
import type { FlowEdge } from './edge.ts';

export interface Later {
  /** Whether the first can have run when the second begins; with `leaving`, when its routes are looked at. */
  precedes(first: string, second: string, leaving?: boolean): boolean;
  /** Whether a failure can have been handled when the node begins; with `leaving`, when its routes are looked at. */
  afterError(id: string, leaving?: boolean): boolean;
}

/** A node that is asked about this often gets all that comes after it remembered. */
const ASKED_MAX = 3;

export function laterOf(
  edges: ReadonlyMap<string, readonly FlowEdge[]>,
  inBranches: ReadonlyMap<string, ReadonlySet<string>>,
): Later {
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
      handled ??= reachableFrom(errorTargets(edges), next);
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
    const joins = inBranches.has(id);
    steps.set(id, [
      ...(joins ? [joinOf(id)] : []),
      ...list.flatMap(({ kind, to }) => (joins && kind !== 'branch' ? [] : [to])),
    ]);
    if (joins)
      steps.set(
        joinOf(id),
        list.flatMap(({ kind, to }) => (kind === 'branch' ? [] : [to])),
      );
  }
  for (const [id, members] of inBranches) for (const member of members) steps.get(member)?.push(joinOf(id));
  return steps;
}

function joinOf(id: string): string {
  return `\u0000${id}`;
}

function errorTargets(edges: ReadonlyMap<string, readonly FlowEdge[]>): readonly string[] {
  return [...edges.values()].flatMap((list) => list.flatMap(({ kind, to }) => (kind === 'error' ? [to] : [])));
}
