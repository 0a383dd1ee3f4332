/**
 * How often a node can run at most. A flow with cycles says so by its cap. Without cycles a node runs once in every thread
 * that comes by: a run is one thread, and each branch of a parallel node is another, as often as that node runs.
 */
import { reachableFrom } from '../../verify/components.ts';
import type { FlowGraph } from './graph.ts';
import type { Flow } from './read.ts';

/** Above this many pairs of a branch and a node, the threads are not looked at one by one. */
const WORK_MAX = 2_000_000;
const VISITS_DEFAULT = 100;

export function visitsMaxOf(flow: Flow, graph: FlowGraph): (id: string) => number {
  const cap = flow.value.max_iterations > 0 ? flow.value.max_iterations : Infinity;
  let visits: ((id: string) => number) | undefined;
  return (id) => {
    visits ??= graph.cycles.length > 0 ? () => cap : threadsPassing(flow, graph);
    return Math.max(1, Math.min(visits(id), cap));
  };
}

function threadsPassing(flow: Flow, graph: FlowGraph): (id: string) => number {
  const onward = (id: string): readonly string[] =>
    (graph.edges.get(id) ?? []).flatMap(({ to, kind }) => (kind !== 'branch' && flow.nodes.has(to) ? [to] : []));
  const heads = [...graph.edges.values()].flat().filter(({ kind, to }) => kind === 'branch' && flow.nodes.has(to));
  if (heads.length * flow.nodes.size > WORK_MAX) return () => VISITS_DEFAULT;
  const run = reachableFrom([flow.value.entry], onward);
  const threads = heads.map(({ from, to }) => ({ from, passes: reachableFrom([to], onward) }));
  const known = new Map<string, number>();
  const visits = (id: string): number => {
    let count = known.get(id);
    if (count !== undefined) return count;
    count = run.has(id) ? 1 : 0;
    for (const { from, passes } of threads) if (passes.has(id)) count += visits(from);
    known.set(id, count);
    return count;
  };
  return visits;
}
