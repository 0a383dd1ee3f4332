/** The cap of each cycle, and the nodes that run at once. */
import { TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type { DoNode, Node, NodeId, TerminalCode } from '@sluice-internal/kernel/ir';
import { reachableFrom } from '../graph/components.ts';
import type { Graph } from '../graph/graph.ts';
import { quote } from '../expressions/cel-text.ts';

export interface Cycle {
  readonly nodes: readonly string[];
  readonly caps: readonly { readonly label: string; readonly max: number }[];
}
export interface Concurrency {
  /** The authored node that starts the branches. */
  readonly at: string;
  /** The authored nodes of each branch. Those of different branches can run at once. */
  readonly branches: readonly (readonly string[])[];
  /** Of a list: the most items that run at once; 0 for all of them. */
  readonly width?: number;
}

export function cyclesOf(graph: Graph): readonly Cycle[] {
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

export function concurrencyOf(graph: Graph): readonly Concurrency[] {
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

export function codesOf(graph: Graph): readonly TerminalCode[] {
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
  if (node.op !== 'let') return [];
  const errors = node.writes.flatMap(({ slot, value }) =>
    slot === 'error' ? (typeof value === 'string' ? [value] : Object.values(value)) : [],
  );
  return errors.length === 0
    ? []
    : TERMINAL_CODES.filter((code) => errors.some((error) => error.includes(quote(code))));
}
