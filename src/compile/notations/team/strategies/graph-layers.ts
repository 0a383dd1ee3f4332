/** Which edges of a graph lead back: by the layer of their ends, which is the shortest way from the entry over all edges. */
import type { RawEdge } from '../schema/graph.ts';

export interface Layers {
  isBack(edge: RawEdge): boolean;
  /** Whether the target of a back-edge was never on the way to its source, so that nothing is repeated by it. */
  isCross(edge: RawEdge): boolean;
}

export function layersOf(entry: string, edges: readonly RawEdge[]): Layers {
  const layers = new Map([[entry, 0]]);
  for (const [id, layer] of layers)
    for (const { From, To } of edges) if (From === id && !layers.has(To)) layers.set(To, layer + 1);
  const layer = (id: string): number => layers.get(id) ?? Infinity;
  const isBack = ({ From, To }: RawEdge): boolean => layer(To) <= layer(From);
  return {
    isBack,
    isCross: (edge) => isBack(edge) && layer(edge.From) < Infinity && !reaches(edge.To, edge.From, edges),
  };
}

function reaches(from: string, to: string, edges: readonly RawEdge[]): boolean {
  const found = new Set([from]);
  for (const id of found) for (const { From, To } of edges) if (From === id) found.add(To);
  return found.has(to);
}
