/** Nodes, edges and the graphs inside nodes. */
import * as z from 'zod';
import { bool, fault, int, list, map, name, phrase, record, ruled, some } from '../../../document/shape/fields.ts';
import { mapReduce, scatterGather } from './phases.ts';
import type { RawMapReduce, RawScatterGather } from './phases.ts';
import { gateShape } from './routes.ts';

const node = record({
  Id: name(),
  Agent: name().optional(),
  SubGraphId: name().optional().describe('A sub-graph that runs as this node, instead of an agent.'),
  Terminal: bool().default(false),
  Parallel: bool().default(false).describe('Runs at the same time as the other parallel nodes of the same keyword.'),
  Validators: some(name()).describe('Of a terminal node: must pass before the session ends.'),
});

const edge = record({
  From: name(),
  To: name(),
  Keyword: phrase().optional().describe('Stands alone on a line; without it, every turn takes the edge.'),
  SourceAgents: some(name()),
  ...gateShape,
});

export type RawNode = z.output<typeof node>;
export type RawEdge = z.output<typeof edge>;
export interface RawGraph {
  readonly EntryNode?: string | undefined;
  readonly Nodes: readonly RawNode[];
  readonly Edges: readonly RawEdge[];
  readonly MaxRetries: number;
  readonly SubGraphs: { readonly [id: string]: RawSubGraph };
}
export interface RawSubGraph {
  readonly Graph?: RawGraph | undefined;
  readonly MapReduce?: RawMapReduce | undefined;
  readonly ScatterGather?: RawScatterGather | undefined;
}

const subGraphFields: z.ZodType<RawSubGraph> = record({
  Graph: z.lazy(() => graph).optional(),
  MapReduce: mapReduce.optional(),
  ScatterGather: scatterGather.optional(),
});
const subGraph = ruled(subGraphFields, (value, context) => {
  const given = Object.keys(value);
  if (given.length === 1) return;
  const keys = '`Graph`, `MapReduce` and `ScatterGather`';
  const message =
    given.length === 0
      ? `a sub-graph is one of ${keys}, but none is given`
      : `a sub-graph is only one of ${keys}, but ${given.length} are given`;
  context.addIssue({ code: 'custom', message: fault('bad-value', message) });
});

const graphFields = {
  EntryNode: name().optional().describe('Where it begins; the first node unless told.'),
  Nodes: list(node, { min: 1, few: fault('bad-value', 'a graph needs at least one node') }),
  Edges: list(edge),
  MaxRetries: int({ min: 0 }).default(4).describe('Corrections in a row before the session is stuck.'),
  SubGraphs: map(subGraph).default({}),
};
export const graph: z.ZodType<RawGraph> = record(graphFields);
export const GRAPH_KEYS: readonly string[] = Object.keys(graphFields);
