/** A graph after reading: nodes with their ways out, each edge known to lead forward or back. */
import type { Path } from '../../../source/located.ts';
import type { Check } from '../model.ts';
import type { RawEdge, RawGraph, RawNode } from '../schema/graph.ts';
import type { RawMapReduce, RawScatterGather } from '../schema/phases.ts';

export interface Graph {
  readonly raw: RawGraph;
  readonly entry: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Whether all its ways are there as they were meant; what follows from one that is not is no further mistake. */
  readonly whole: boolean;
}
export interface GraphNode {
  readonly id: string;
  readonly raw: RawNode;
  readonly path: Path;
  /** Of a terminal node: what must hold before the session ends. */
  readonly checks: readonly Check[];
  /** In the order of the document. */
  readonly ways: readonly Way[];
  /** What runs as this node where it is not an agent. */
  readonly inner: Inner | null;
  /** Who may have said what the node comes to. */
  readonly speakers: readonly string[];
}
export interface Way {
  readonly raw: RawEdge;
  readonly index: number;
  readonly path: Path;
  readonly checks: readonly Check[];
  /** Whether it leads to a node that is no further from the entry than where it starts. */
  readonly back: boolean;
}
export type Inner =
  | { readonly is: 'graph'; readonly graph: Graph }
  | { readonly is: 'mapreduce'; readonly raw: RawMapReduce }
  | { readonly is: 'scattergather'; readonly raw: RawScatterGather };
