/**
 * The certificate of a flow: its costs and ends before it runs, from the compiled graph alone. For every dimension it has
 * the least amount of a good path and the most that the caps allow. It also has the cap of each cycle, the codes of the
 * ends, and the number of threads that run at once.
 */
import { BUDGET_DIMENSIONS, dimensionRow } from '@sluice-internal/kernel/ir';
import type { Amounts, Dimension, FlowBody, Measure, NodeId, TerminalCode } from '@sluice-internal/kernel/ir';
import { codesOf, concurrencyOf, cyclesOf, type Concurrency, type Cycle } from './shape.ts';
import { atFirst } from './first.ts';
import { leastFrom, type Least } from './least.ts';
import { mostWithin, undoneMost } from './limits.ts';
import { leastUnderCaps } from './walk.ts';
import type { Graph } from '../graph/graph.ts';

export interface Bound {
  readonly least: number;
  /** Null: nothing bounds it. */
  readonly most: number | null;
}
type Measures = { readonly [measure in Measure]: Bound };

export interface Bounds {
  /** For a whole run. */
  readonly flow: Measures;
  /** By authored name: from the node on, to the end of its path. */
  readonly nodes: { readonly [name: string]: Measures };
  readonly cycles: readonly Cycle[];
  readonly codes: readonly TerminalCode[];
  readonly concurrent: readonly Concurrency[];
}

export function boundsOf(graph: Graph): { readonly bounds: Bounds; readonly least: FlowBody['least'] } {
  const { body } = graph;
  const first = atFirst(graph);
  const table = BUDGET_DIMENSIONS.map((dimension) => ({
    dimension,
    least: leastFrom(graph, dimension),
    most: mostWithin(graph, dimension),
    limit: limitOf(body, dimension),
    undone: undoneMost(graph, dimension, limitOf(body, 'toolCalls')),
  }));
  const wholeLeast = (dimension: Dimension, least: Least): number => {
    const atEntry = (first === graph ? least : leastFrom(first, dimension)).get(body.entry) ?? 0;
    return Math.max(atEntry, leastUnderCaps(graph, dimension));
  };
  const measuresAt = (id: NodeId, whole = false): Measures => {
    const uppers = new Map(
      table.map(({ dimension, most, limit, undone }) => [dimension, Math.min(most(id), limit) + undone(id)]),
    );
    limitSums(uppers);
    const entries = table.map(({ dimension, least }) => {
      const { measure, scale } = dimensionRow(dimension);
      const upper = uppers.get(dimension) ?? Infinity;
      const lower = whole && least.size > 0 ? wholeLeast(dimension, least) : (least.get(id) ?? 0);
      return [measure, { least: lower / scale, most: Number.isFinite(upper) ? upper / scale : null }];
    });
    return Object.fromEntries(entries) as Measures;
  };
  const nodes: [string, Measures][] = [];
  const limited = table.filter(({ limit }) => Number.isFinite(limit));
  const least: [NodeId, Amounts][] = [];
  for (const id of graph.ids) {
    const node = graph.node(id);
    if (node.label.enters !== undefined) nodes.push([node.label.enters, measuresAt(id)]);
    if (node.charges === undefined) continue;
    const amounts = limited.flatMap((each) =>
      (each.least.get(id) ?? 0) > 0 ? [[each.dimension, each.least.get(id)]] : [],
    );
    if (amounts.length > 0) least.push([id, Object.fromEntries(amounts) as Amounts]);
  }
  const bounds: Bounds = {
    flow: measuresAt(body.entry, true),
    nodes: Object.fromEntries(nodes),
    cycles: cyclesOf(graph),
    codes: codesOf(graph),
    concurrent: concurrencyOf(graph),
  };
  return { bounds, least: Object.fromEntries(least) };
}

/** A sum is at most the sum of its parts, and each part is at most the sum. */
function limitSums(uppers: Map<Dimension, number>): void {
  const most = (dimension: Dimension): number => uppers.get(dimension) ?? Infinity;
  for (const dimension of uppers.keys()) {
    const parts = dimensionRow(dimension).sums ?? [];
    if (parts.length === 0) continue;
    const whole = Math.min(
      most(dimension),
      parts.reduce((sum, part) => sum + most(part), 0),
    );
    for (const each of [dimension, ...parts]) uppers.set(each, Math.min(most(each), whole));
  }
}

/** The budget of the whole run; a zero denies, so nothing of it is ever used. */
function limitOf(body: FlowBody, dimension: Dimension): number {
  const meter = body.meters[dimension === 'steps' ? 'steps' : `budget.${dimension}`];
  return meter?.max ?? Infinity;
}
