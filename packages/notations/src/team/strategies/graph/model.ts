/** A graph as authors write it, and as it is after reading: nodes with their edges, each edge forward or back. */
import * as z from 'zod';
import {
  bool,
  fault,
  int,
  list,
  map,
  name,
  oneOfKeys,
  phrase,
  record,
  ruled,
  some,
} from '@sluice-internal/compile/document';
import type { Path } from '@sluice-internal/compile/source';
import { reachableFrom } from '@sluice-internal/compile/graph';
import type { Check } from '../../model.ts';
import { gateFields, sourceAgents } from '../../schema/gates.ts';
import { mapReduceSchema, type RawMapReduce } from '../mapreduce.ts';
import { mayTake, sameTrigger } from '../routing.ts';
import { scatterGatherSchema, type RawScatterGather } from '../scattergather.ts';

const node = record(() => ({
  Id: name().describe('The id of the node.'),
  Agent: name().optional().describe('The agent of the node.'),
  SubGraphId: name().optional().describe('A sub-graph that runs instead of an agent.'),
  Terminal: bool().default(false).describe('True: the session ends after the turn of this node.'),
  Parallel: bool().default(false).describe('Runs at the same time as the other parallel nodes of the same keyword.'),
  Validators: some(name()).describe('Of a terminal node: must pass before the session ends.'),
}));

const edge = record(() => ({
  From: name().describe('The node that the edge leaves.'),
  To: name().describe('The next node.'),
  Keyword: phrase().optional().describe('Alone on a line; without it, every turn takes the edge.'),
  SourceAgents: sourceAgents(),
  ...gateFields(),
}));

export type GraphNodeFields = z.input<typeof node>;
export type GraphEdgeFields = z.input<typeof edge>;
export type RawNode = z.output<typeof node>;
export type RawEdge = z.output<typeof edge>;
export type RawGraph = z.output<z.ZodObject<ReturnType<typeof ownFields>>> & {
  readonly SubGraphs: { readonly [id: string]: RawSubGraph };
};
export interface RawSubGraph {
  readonly Graph?: RawGraph | undefined;
  readonly MapReduce?: RawMapReduce | undefined;
  readonly ScatterGather?: RawScatterGather | undefined;
}

const subGraphFields: z.ZodType<RawSubGraph> = record(() => ({
  Graph: z
    .lazy(() => graphSchema)
    .optional()
    .describe('A graph of its own.'),
  MapReduce: mapReduceSchema.optional().describe('One agent splits, one maps, one reduces.'),
  ScatterGather: scatterGatherSchema.optional().describe('All participants at once, then the synthesizer.'),
}));
const subGraph = ruled(subGraphFields, (value) =>
  oneOfKeys(value, 'a sub-graph', '`Graph`, `MapReduce` and `ScatterGather`'),
);

const ownFields = () => ({
  EntryNode: name().optional().describe('The first node to run. Default: the first of the list.'),
  Nodes: list(node, {
    min: 1,
    few: fault('bad-value', 'a graph needs at least one node', 'Add one to `Nodes`.'),
  }).describe('The nodes.'),
  Edges: list(edge).describe('The edges. The first that fits the turn is taken.'),
  MaxRetries: int({ min: 0 }).optional().describe('Corrections in a row before the session fails. Default: 4.'),
});
const graphFields = () => ({
  ...ownFields(),
  SubGraphs: map(subGraph).default({}).describe('Pipelines that run inside nodes, by id.'),
});
export const graphSchema: z.ZodType<RawGraph> = record(graphFields);
export const graphKeys = (): readonly string[] => Object.keys(graphFields());

export interface Graph {
  readonly raw: RawGraph;
  readonly entry: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** False if an edge could not be read; then its consequences are not reported. */
  readonly whole: boolean;
}
export interface GraphNode {
  readonly id: string;
  readonly raw: RawNode;
  readonly path: Path;
  /** Of a terminal node: the validators that must pass before the session ends. */
  readonly checks: readonly Check[];
  /** In the order of the document. */
  readonly edges: readonly Edge[];
  /** The sub-graph that runs instead of an agent. */
  readonly inner: Inner | null;
  /** The agents who may write the node's message. */
  readonly speakers: readonly string[];
}
export interface Edge {
  readonly raw: RawEdge;
  readonly index: number;
  readonly path: Path;
  readonly checks: readonly Check[];
  /** True if the target is in the same layer as the source or an earlier one. */
  readonly back: boolean;
}
export type Inner =
  | { readonly is: 'graph'; readonly graph: Graph }
  | { readonly is: 'mapreduce'; readonly raw: RawMapReduce }
  | { readonly is: 'scattergather'; readonly raw: RawScatterGather };

export interface Layers {
  isBack(edge: RawEdge): boolean;
  /** True if a back-edge leads to a node that does not come before its source. */
  isCross(edge: RawEdge): boolean;
}

/** The layer of a node is its shortest distance from the entry over all edges. */
export function layersOf(entry: string, edges: readonly RawEdge[]): Layers {
  const next = (id: string): readonly string[] => edges.flatMap(({ From, To }) => (From === id ? [To] : []));
  const layers = new Map([[entry, 0]]);
  for (const [id, layer] of layers) for (const to of next(id)) if (!layers.has(to)) layers.set(to, layer + 1);
  const layer = (id: string): number => layers.get(id) ?? Infinity;
  const isBack = ({ From, To }: RawEdge): boolean => layer(To) <= layer(From);
  return {
    isBack,
    isCross: (edge) => isBack(edge) && layer(edge.From) < Infinity && !reachableFrom([edge.To], next).has(edge.From),
  };
}

/** True if the session can go on after the node, or end there. */
export function leadsOn({ raw, edges }: GraphNode): boolean {
  return edges.length > 0 || raw.Terminal || raw.Parallel;
}

/** True if an agent that speaks in the node may take the edge. */
export function isOpen({ speakers }: GraphNode, { raw }: Edge): boolean {
  return raw.SourceAgents === undefined || speakers.some((agent) => mayTake(raw, agent));
}

/** The edges to parallel nodes that a keyword of a node takes together, in the order of the document. */
export function groupOf(graph: Graph, node: GraphNode, keyword: string | undefined): readonly Edge[] {
  return node.edges.filter(
    (edge) =>
      graph.nodes.get(edge.raw.To)?.raw.Parallel === true &&
      sameTrigger(edge.raw.Keyword, keyword) &&
      isOpen(node, edge),
  );
}

/** The node where a parallel group joins: the first that one of its members leads on to. */
export function mergeOf(graph: Graph, node: GraphNode, keyword: string | undefined): string | null {
  const members = groupOf(graph, node, keyword).flatMap(({ raw }) => graph.nodes.get(raw.To) ?? []);
  return members.flatMap(({ edges }) => edges).find(({ back }) => !back)?.raw.To ?? null;
}
