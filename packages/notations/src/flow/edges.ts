/**
 * The edges of a flow, read straight from the text. The routes of a faulty node count too, so that one mistake
 * neither makes its neighbours unreachable nor hides a cycle.
 */
import { childOf, entryMeant, itemsOf, nearest, textOf } from '@sluice-internal/compile/source';
import type { Located, Range } from '@sluice-internal/compile/source';
import { cyclesIn, reachableFrom } from '@sluice-internal/compile/graph';
import { END, isCatchAll, type EdgeField, type FlowEdge } from './model.ts';
import { NODE_TYPES } from './nodes/registry.ts';
import { FIELDS } from './schema.ts';

const COMMON: readonly EdgeField[] = [
  { field: 'routes', kind: 'route' },
  { field: 'on_error', kind: 'error' },
  { field: 'on_exhausted', kind: 'over', single: true },
];

export interface NodeEdges {
  readonly edges: readonly FlowEdge[];
  /** False if an edge was written that cannot be read: it may lead to any node. */
  readonly clear: boolean;
}

interface NamedEdges extends NodeEdges {
  readonly id: string;
  /** The place of the id. */
  readonly at: Range;
  /** True if the node bounds its own visits. */
  readonly bounded: boolean;
}

export interface WrittenGraph {
  /** By id, in the order of the document; two nodes of one id have the edges of both. */
  readonly nodes: ReadonlyMap<string, NamedEdges>;
  /** The nodes that can be reached from a node; null if that is unclear. */
  reachedFrom(entry: string): ReadonlySet<string> | null;
  /** Cycles in which no node bounds its own visits. */
  readonly unbounded: readonly (readonly string[])[];
}

/** The edges of one node. Routes come first, then the fields of its type, then error routes. */
export function edgesOf(item: Located | undefined, from: string): NodeEdges {
  if (item?.kind !== 'map') return { edges: [], clear: false };
  const type = textOf(item.entries.get('type')?.value);
  const known = NODE_TYPES.filter((each) => each.type === type);
  const own = (known.length > 0 ? known : NODE_TYPES).flatMap(({ edges = [] }) => edges);
  // Without its type, `on_timeout` may be a node or a choice.
  const unclear = known.length === 0 && own.some(({ field, kind }) => kind === 'late' && item.entries.has(field));
  const [routes, ...others] = COMMON as readonly [EdgeField, ...EdgeField[]];
  const fields = [routes, ...own, ...others].filter(({ kind }) => !unclear || kind !== 'late');
  const read = fields.map((field) => edgesIn(item, from, field, known.length > 0 && own.includes(field)));
  return { edges: read.flatMap(({ edges }) => edges), clear: !unclear && read.every(({ clear }) => clear) };
}

function edgesIn(item: Located, from: string, { field, kind, single, optional }: EdgeField, own: boolean): NodeEdges {
  const list = entryMeant(item, field, FIELDS.node)?.value;
  if (list === undefined) return { edges: [], clear: !own || optional === true };
  if (single === true) {
    const to = textOf(list);
    return to === undefined || to === ''
      ? { edges: [], clear: false }
      : { edges: [{ from, to, kind, index: 0, label: null, at: list.range }], clear: true };
  }
  const edges: FlowEdge[] = [];
  let clear = list.kind === 'list';
  for (const [index, each] of itemsOf(list).entries()) {
    const located = entryMeant(each, 'to', kind === 'error' ? FIELDS.error : FIELDS.route)?.value;
    const to = textOf(located);
    if (to === undefined || to === '' || located === undefined) clear = false;
    else edges.push({ from, to, kind, index, label: labelOf(each), at: located.range });
  }
  return { edges, clear };
}

/** A route's condition or an error route's pattern. */
function labelOf(item: Located): string | null {
  const written = childOf(item, 'when') ?? childOf(item, 'match');
  const label = written?.kind === 'scalar' && written.value !== null ? String(written.value) : '';
  return isCatchAll({ when: label }) || textOf(childOf(item, 'default')) === 'true' ? null : label;
}

export function writtenGraph(body: Located): WrittenGraph {
  const { nodes, nameless, clear } = readNodes(body);
  // A misspelt target is one mistake: the node that it was meant for counts as reached.
  const meant = ({ to }: FlowEdge): readonly string[] => {
    const found = nodes.has(to) || to === END ? to : nearest(to, nodes.keys());
    return found === undefined || !nodes.has(found) ? [] : [found];
  };
  const next = (id: string): readonly string[] => nodes.get(id)?.edges.flatMap(meant) ?? [];
  return {
    nodes,
    reachedFrom(entry) {
      const start = nodes.has(entry) ? entry : nearest(entry, nodes.keys());
      if (start === undefined || !clear) return null;
      const reached = reachableFrom([start, ...nameless.flatMap(meant)], next);
      return [...reached].every((id) => nodes.get(id)?.clear ?? true) ? reached : null;
    },
    unbounded: unboundedIn(nodes),
  };
}

/** Cycles of nodes that no `max_visits` bounds. A visit beyond it is not counted, and leads to `on_exhausted`. */
function unboundedIn(nodes: ReadonlyMap<string, NamedEdges>): WrittenGraph['unbounded'] {
  const next = (id: string): readonly string[] => {
    const { bounded = false, edges = [] } = nodes.get(id) ?? {};
    const followed = bounded ? edges.filter(({ kind }) => kind === 'over') : edges;
    return followed.flatMap(({ to }) => (nodes.has(to) && to !== END ? [to] : []));
  };
  return cyclesIn(nodes.keys(), next);
}

function readNodes(body: Located) {
  const nodes = new Map<string, NamedEdges>();
  /** Edges of nodes without an id. */
  const nameless: FlowEdge[] = [];
  let clear = true;
  for (const [index, item] of itemsOf(entryMeant(body, 'nodes', FIELDS.flow)?.value).entries()) {
    const located = entryMeant(item, 'id', FIELDS.node)?.value;
    const id = textOf(located);
    const read = edgesOf(item, id ?? `item ${index + 1}`);
    if (id === undefined || id === '' || located === undefined) {
      nameless.push(...read.edges);
      clear &&= read.clear;
      continue;
    }
    const first = nodes.get(id) ?? { at: located.range, edges: [], clear: true };
    nodes.set(id, {
      id,
      at: first.at,
      edges: [...first.edges, ...read.edges],
      clear: read.clear && first.clear,
      bounded: entryMeant(item, 'max_visits', FIELDS.node) !== undefined,
    });
  }
  return { nodes, nameless, clear };
}
