/**
 * The certificate of a flow: its costs and ends before it runs, from the compiled graph alone. For every dimension it has
 * the least amount of a good path and the most that the caps allow. It also has the cap of each cycle, the codes of the
 * ends, and the number of threads that run at once.
 */
import { BUDGET_DIMENSIONS, dimensionRow, failuresOf, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type {
  Amounts,
  Dimension,
  FlowBody,
  Measure,
  NodeId,
  TerminalCode,
  DoNode,
  Node,
} from '@sluice-internal/kernel/ir';
import type { Graph } from '../graph/graph.ts';
import { reachableFrom } from '../graph/components.ts';
import { quote } from '@sluice-internal/kernel/expr';
import { atFirst } from './first.ts';
import { hasVerifier, leastFrom, type Least } from './least.ts';
import { mostWithin, undoneMost } from './most.ts';
import { leastUnderCaps } from './walk.ts';

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
  /** True if a verifier judges an answer: `least` contains it. */
  readonly verified: boolean;
}

export function boundsOf(graph: Graph): { readonly bounds: Bounds; readonly least: FlowBody['least'] } {
  const { body } = graph;
  const first = atFirst(graph);
  const isVerified = hasVerifier(graph);
  const table = BUDGET_DIMENSIONS.map((dimension) => ({
    dimension,
    // What early stopping compares; the least of a run has its verifiers too.
    needed: leastFrom(graph, dimension),
    least: leastFrom(graph, dimension, isVerified),
    most: mostWithin(graph, dimension),
    limit: limitOf(body, dimension),
    undone: undoneMost(graph, dimension, limitOf(body, 'toolCalls')),
  }));
  const wholeLeast = (dimension: Dimension, least: Least): number => {
    const atEntry = (first === graph ? least : leastFrom(first, dimension, isVerified)).get(body.entry) ?? 0;
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
      (each.needed.get(id) ?? 0) > 0 ? [[each.dimension, each.needed.get(id)]] : [],
    );
    if (amounts.length > 0) least.push([id, Object.fromEntries(amounts) as Amounts]);
  }
  const bounds: Bounds = {
    flow: measuresAt(body.entry, true),
    nodes: Object.fromEntries(nodes),
    cycles: cyclesOf(graph),
    codes: codesOf(graph),
    concurrent: concurrencyOf(graph),
    verified: isVerified,
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

interface Cycle {
  readonly nodes: readonly string[];
  readonly caps: readonly { readonly label: string; readonly max: number }[];
}
interface Concurrency {
  /** The authored node that starts the branches. */
  readonly at: string;
  /** The authored nodes of each branch. Those of different branches can run at once. */
  readonly branches: readonly (readonly string[])[];
  /** Of a list: the most items that run at once; 0 for all of them. */
  readonly width?: number;
}

function cyclesOf(graph: Graph): readonly Cycle[] {
  const cycles: Cycle[] = [];
  for (const { members, cyclic } of graph.components()) {
    if (!cyclic) continue;
    const caps = new Map<string, number>();
    for (const id of members)
      for (const [, { label, max }] of graph.bounding(id)) if (max !== null) caps.set(label, max);
    const names = authored(graph, new Set(members));
    // A cycle without authored nodes is described by the names of its graph nodes.
    const labels = members.map((id) => graph.node(id).label);
    const nodes = names.length > 0 ? names : [...new Set(labels.map((each) => each.authored ?? each.name))].reverse();
    cycles.push({ nodes, caps: [...caps].map(([label, max]) => ({ label, max })) });
  }
  return cycles.reverse();
}

function concurrencyOf(graph: Graph): readonly Concurrency[] {
  return graph.ids.flatMap((id): Concurrency[] => {
    const node = graph.node(id);
    if (node.op !== 'fork' || node.widthMax === 1) return [];
    const heads = 'heads' in node.over ? node.over.heads.map(({ to }) => to) : [node.over.head];
    // A sub-flow and an attempt are one branch.
    if ('heads' in node.over && heads.length === 1) return [];
    const branches = heads.map((head) => authored(graph, reachableFrom([head], graph.targets)));
    // The tool calls of one reply run at once too, and enter no authored node.
    const width = 'heads' in node.over ? {} : { width: node.widthMax };
    return branches.every((nodes) => nodes.length === 0) ? [] : [{ at: node.label.name, branches, ...width }];
  });
}

function authored(graph: Graph, ids: ReadonlySet<NodeId>): readonly string[] {
  const found = [...ids]
    .filter((id) => graph.node(id).label.enters !== undefined)
    .sort((a, b) => graph.position(a) - graph.position(b));
  return found.map((id) => graph.node(id).label.enters ?? id);
}

/** Codes of failed calls. */
const FAILURES: readonly TerminalCode[] = [
  'UNAVAILABLE_DEP',
  'TIMEOUT',
  'IMPOSSIBLE',
  'VALIDATION_FAIL',
  'PERMISSION_DENIED',
  'UNSAFE_DETECTION',
];

function codesOf(graph: Graph): readonly TerminalCode[] {
  // Every run can be cancelled.
  const codes = new Set<TerminalCode>(['USER_CANCEL']);
  const reached = graph.reached();
  const nodes = [...reached].map(graph.node);
  const calls = nodes.filter((node) => node.op === 'do');
  const stated = new Set(nodes.flatMap(statedBy));
  for (const node of nodes) {
    if (node.op !== 'end') continue;
    if (node.code !== 'error') {
      codes.add(node.code);
      continue;
    }
    for (const code of stated) codes.add(code);
    if (calls.length === 0) codes.add('VALIDATION_FAIL');
    else {
      for (const code of FAILURES) codes.add(code);
      if (calls.some(isRepeated)) codes.add('REPEATED_FAILURE');
    }
  }
  if (graph.body.clock !== undefined) codes.add('TIMEOUT');
  if (calls.some(({ undo }) => undo !== undefined)) codes.add('REVIEW_REQUIRED');
  return TERMINAL_CODES.filter((code) => codes.has(code));
}

/** A call that another model answers has a second attempt too. */
function isRepeated({ retry: { max, fallback, whileOpen } }: DoNode): boolean {
  return max > 0 || fallback !== undefined || whileOpen !== undefined;
}

/** The codes of failures that the flow itself raises, for example after a loop of calls. */
function statedBy(node: Node): readonly TerminalCode[] {
  if (node.op === 'do' && node.controls !== undefined) return failuresOf(node.controls).map(({ code }) => code);
  if (node.op !== 'let') return [];
  const errors = node.writes.flatMap(({ slot, value }) =>
    slot === 'error' ? (typeof value === 'string' ? [value] : Object.values(value)) : [],
  );
  return errors.length === 0
    ? []
    : TERMINAL_CODES.filter((code) => errors.some((error) => error.includes(quote(code))));
}
