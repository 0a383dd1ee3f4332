/**
 * Where the nodes lead, straight from the text: a node that is faulty otherwise still leads where it says, so that one
 * mistake neither makes its neighbours unreachable nor hides a cycle.
 */
import { componentsOf, reachableFrom } from '../../verify/components.ts';
import { childOf, entryMeant, itemsOf, textOf } from '../../source/located.ts';
import type { Located } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Range } from '../../source/range.ts';
import { FIELDS } from './schema.ts';

export interface Way {
  readonly from: string;
  readonly to: string;
  readonly at: Range;
}
export interface NodeWays {
  readonly id: string;
  /** Where the id stands. */
  readonly at: Range;
  readonly ways: readonly Way[];
  /** False where a way was written that cannot be read: it may lead to any node. */
  readonly clear: boolean;
}
export interface Ways {
  /** By id, in the order of the document; two nodes of one id lead where either does. */
  readonly nodes: ReadonlyMap<string, NodeWays>;
  /** What can be reached from a node, or that this cannot be told. */
  reachedFrom(entry: string): ReadonlySet<string> | null;
  readonly cycles: readonly (readonly string[])[];
}

export function readWays(body: Located): Ways {
  const nodes = new Map<string, NodeWays>();
  const nameless: Way[] = [];
  let clear = true;
  for (const [index, item] of itemsOf(entryMeant(body, 'nodes', FIELDS.flow)?.value).entries()) {
    const located = entryMeant(item, 'id', FIELDS.node)?.value;
    const id = textOf(located);
    const read = readNode(item, id ?? `item ${index + 1}`);
    if (id === undefined || id === '' || located === undefined) {
      nameless.push(...read.ways);
      clear &&= read.clear;
    } else {
      const first = nodes.get(id);
      const ways = [...(first?.ways ?? []), ...read.ways];
      nodes.set(id, { id, at: first?.at ?? located.range, ways, clear: read.clear && (first?.clear ?? true) });
    }
  }
  // A misspelt target is one mistake: what it was meant for counts as reached.
  const meant = ({ to }: Way): readonly string[] => {
    const found = nodes.has(to) || to === 'end' ? to : nearest(to, nodes.keys());
    return found === undefined || !nodes.has(found) ? [] : [found];
  };
  const next = (id: string): readonly string[] => nodes.get(id)?.ways.flatMap(meant) ?? [];
  return {
    nodes,
    reachedFrom(entry) {
      const start = nodes.has(entry) ? entry : nearest(entry, nodes.keys());
      if (start === undefined || !clear) return null;
      const reached = reachableFrom([start, ...nameless.flatMap(meant)], next);
      return [...reached].every((id) => nodes.get(id)?.clear ?? true) ? reached : null;
    },
    cycles: componentsOf(nodes.keys(), (id) =>
      (nodes.get(id)?.ways ?? []).flatMap(({ to }) => (nodes.has(to) && to !== 'end' ? [to] : [])),
    )
      .filter(({ cyclic }) => cyclic)
      .map(({ members }) => [...members].reverse()),
  };
}

function readNode(item: Located, from: string): Pick<NodeWays, 'ways' | 'clear'> {
  const ways: Way[] = [];
  let clear = item.kind === 'map';
  clear &&= textOf(childOf(item, 'type')) !== 'parallel' || entryMeant(item, 'branches', FIELDS.node) !== undefined;
  for (const field of ['routes', 'branches', 'on_error'] as const) {
    const list = entryMeant(item, field, FIELDS.node)?.value;
    if (list === undefined) continue;
    if (list.kind !== 'list') clear = false;
    for (const each of itemsOf(list)) {
      const located = entryMeant(each, 'to', FIELDS[field])?.value;
      const to = textOf(located);
      if (to === undefined || to === '' || located === undefined) clear = false;
      else ways.push({ from, to, at: located.range });
    }
  }
  return { ways, clear };
}
