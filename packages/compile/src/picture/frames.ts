/** Frames: graphs that run inside a node are drawn around it. */
import { END, START, shape, type Picture, type PictureNode } from './picture.ts';

type Drawn = Pick<Picture, 'nodes' | 'edges' | 'cycles'>;

/** Each sub-flow or sub-graph in a frame of its own: its node leads to its first node, and its ends lead back to where the node's routes begin. */
export function withFrames<Outer extends Drawn>(outer: Outer, subs: ReadonlyMap<string, Drawn>): Outer {
  const back = (id: string): string => (subs.has(id) ? `${id} returns` : id);
  const nodes = outer.nodes.flatMap((node): PictureNode[] => {
    const inner = subs.get(node.id);
    if (inner === undefined) return [node];
    const group = node.group ?? node.id;
    const own = inner.nodes.filter(({ id }) => id !== START.id && id !== END.id);
    const returns = { ...shape(back(node.id), 'join', 'join', 'returns'), group };
    return [{ ...node, group }, ...own.map((each) => ({ ...each, id: `${node.id}/${each.id}`, group })), returns];
  });
  const inside = [...subs].flatMap(([id, { edges }]) =>
    edges.map((edge) => ({
      ...edge,
      from: edge.from === START.id ? id : `${id}/${edge.from}`,
      to: edge.to === END.id ? back(id) : `${id}/${edge.to}`,
      kind: edge.from === START.id ? ('branch' as const) : edge.to === END.id ? ('join' as const) : edge.kind,
    })),
  );
  const cycles = [...subs].flatMap(([id, inner]) =>
    inner.cycles.map((cycle) => ({ ...cycle, nodes: cycle.nodes.map((each) => `${id}/${each}`) })),
  );
  const around = outer.cycles.map((cycle) => ({
    ...cycle,
    nodes: cycle.nodes.flatMap((id) => (subs.has(id) ? [id, back(id)] : [id])),
  }));
  const edges = [...outer.edges.map((edge) => ({ ...edge, from: back(edge.from) })), ...inside];
  return { ...outer, nodes, edges, cycles: [...around, ...cycles] };
}
