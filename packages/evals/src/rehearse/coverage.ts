/** The authored nodes and edges that the runs reached. */
import { inherited } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, ThreadId } from '@sluice-internal/kernel/ir';
import type { Picture } from '@sluice-internal/compile/picture';
import { enteredBy } from '@sluice-internal/engine/report';
import type { Defect } from './defects.ts';

export interface Covered {
  /** The number of reached ones. */
  readonly reached: number;
  readonly never: readonly string[];
}

export function createCoverage(flow: CompiledFlow, picture: Picture | null) {
  const authored = [...new Set(Object.values(flow.nodes).flatMap(({ label }) => label.enters ?? []))];
  const drawn = edgesIn(picture, new Set(authored));
  const nodes = new Set<string>();
  const edges = new Set<string>();
  return {
    /** True if the run reached a node or an edge for the first time. */
    add: (events: readonly Event[]): boolean => {
      const before = nodes.size + edges.size;
      for (const [from, to] of movesIn(flow, events)) {
        nodes.add(to);
        if (from !== null) edges.add(edgeName(from, to));
      }
      return nodes.size + edges.size > before;
    },
    nodes: () => covered(authored, nodes),
    edges: () => covered(drawn, edges),
    /** Nodes and routes that no run reached. */
    defects: (): readonly Defect[] => {
      const lost = covered(authored, nodes).never;
      const unmatched = covered(drawn, edges).never.filter(
        (edge) => !lost.some((node) => edge.startsWith(`${node} `) || edge.endsWith(` ${node}`)),
      );
      const never = (kind: Defect['kind'], about: string, message: string): Defect => ({
        ...{ kind, about, seed: null, runs: 0 },
        message: `${message} ${about}`,
      });
      return [
        ...lost.map((node) => never('unreached-node', node, 'no run reached')),
        ...unmatched.map((edge) => never('unmatched-route', edge, 'no run took the route')),
      ];
    },
  };
}

function covered(all: readonly string[], reached: ReadonlySet<string>): Covered {
  const never = all.filter((each) => !reached.has(each));
  return { reached: all.length - never.length, never };
}

function edgeName(from: string, to: string): string {
  return `${from} -> ${to}`;
}

/** Edges between authored nodes, by name. A join stands for the node whose branches it waits for. */
function edgesIn(picture: Picture | null, authored: ReadonlySet<string>): readonly string[] {
  if (picture === null) return [];
  const labels = new Map(picture.nodes.map(({ id, label }) => [id, label]));
  const nameOf = (id: string): string => {
    const label = labels.get(id) ?? id;
    if (authored.has(id) || !authored.has(label)) return authored.has(id) ? id : id.replace(/^~|~?join$/g, '');
    return label;
  };
  const names = picture.edges
    .filter(({ kind }) => kind !== 'join' && kind !== 'over')
    .map(({ from, to }) => [nameOf(from), nameOf(to)] as const)
    .filter(([from, to]) => authored.has(from) && authored.has(to))
    .map(([from, to]) => edgeName(from, to));
  return [...new Set(names)];
}

/** The authored nodes in the order of entry, each with the node before it in its branch. */
function* movesIn(flow: CompiledFlow, events: readonly Event[]): Iterable<readonly [from: string | null, to: string]> {
  const last = new Map<ThreadId, string>();
  const tasks = Object.values(flow.nodes).flatMap(({ label: { enters, entersBy } }) =>
    enters === undefined || entersBy === undefined ? [] : [enters],
  );
  for (const event of events) {
    const entered = enteredBy(flow, event);
    if (entered === undefined) continue;
    // Tasks that a model makes are entries of the node that works on them: `workers/task1` is `workers`.
    const to = tasks.find((name) => entered.startsWith(`${name}/`)) ?? entered;
    const thread = 'thread' in event ? event.thread : '0';
    // A branch begins where the branch that it was forked from stands.
    yield [inherited(last, thread) ?? null, to];
    last.set(thread, to);
  }
}
