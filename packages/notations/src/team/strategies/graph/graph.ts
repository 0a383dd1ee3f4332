/**
 * `graph`: each node has an agent, and only the edges of the node can follow its turn, by a keyword alone on its line. The first edge
 * in the order of the document that fits is taken. A back-edge begins a new phase.
 */
import { reachableFrom } from '@sluice-internal/compile/graph';
import { END, START, edgeShape, withFrames } from '@sluice-internal/compile/picture';
import { agentShape, guarded, type Drawing } from '../../drawing.ts';
import { gateOf, success } from '../../lowering.ts';
import type { Reading, Team } from '../../model.ts';
import { canEnd, demandTermination } from '../../termination.ts';
import { lacking, strategy } from '../strategy.ts';
import { lowerGraph } from './lower.ts';
import { graphSchema, type Graph, type GraphNode } from './model.ts';
import { readGraph } from './read.ts';

export const graph = strategy({
  type: 'graph',
  fields: () => ({ Graph: graphSchema.optional().describe('Of `graph`: its nodes and edges.') }),
  read({ Graph: raw }, reading, team) {
    if (raw === undefined) return lacking(reading, 'graph', 'Graph');
    const read = readGraph(raw, ['Selection', 'Graph'], reading);
    demandEnd(reading, team, read, null);
    return read;
  },
  gates: ({ nodes }) =>
    [...nodes.values()].flatMap(({ edges, speakers }) =>
      edges.flatMap(({ raw, checks }) => gateOf(raw.Keyword, speakers, checks, raw.RequireHumanApproval)),
    ),
  lower: (l, model) => lowerGraph(l, model, success(l)),
  draw,
});

/** A graph must reach a terminal node, or, at the top, a termination. */
function demandEnd(reading: Reading, team: Team, { nodes, entry, whole }: Graph, inside: GraphNode | null): void {
  for (const node of nodes.values()) if (node.inner?.is === 'graph') demandEnd(reading, team, node.inner.graph, node);
  if (!whole || !reading.body.sound) return;
  const reached = reachableFrom([entry], (id) => nodes.get(id)?.edges.map(({ raw: { To } }) => To) ?? []);
  const terminal = [...nodes.values()].filter(({ raw }) => raw.Terminal);
  if (terminal.some(({ id }) => reached.has(id))) return;
  const speakers = inside === null ? [...reached].flatMap((id) => nodes.get(id)?.speakers ?? []) : [];
  if (canEnd(team, speakers)) return;
  for (const { id, path } of terminal)
    reading.report.error(
      'unreachable-node',
      reading.at(...path, 'Id'),
      `the terminal node \`${id}\` is never reached`,
      { help: 'Add an edge that leads to it.' },
    );
  if (terminal.length > 0) return;
  if (inside === null) demandTermination(reading, team, speakers);
  else
    reading.report.error(
      'no-termination',
      reading.at(...inside.path.slice(0, -2), 'SubGraphs', inside.raw.SubGraphId ?? ''),
      `nothing ends the sub-graph \`${inside.raw.SubGraphId ?? ''}\`: it has no terminal node, and there is no \`MaxIterations\``,
      { help: 'Set `Terminal: true` on the node that ends it.' },
    );
}

/** Each sub-graph in a frame. Only the nodes outside can end the session by a message. */
function draw(graph: Graph): Drawing {
  const outer = drawNodes(graph);
  const subs = [...graph.nodes.values()].flatMap(({ id, inner }) =>
    inner?.is === 'graph' ? [[id, { cycles: [], ...draw(inner.graph) }] as const] : [],
  );
  if (subs.length === 0) return outer;
  const { nodes, edges } = withFrames({ ...outer, cycles: [] }, new Map(subs));
  return { nodes, edges, last: [...graph.nodes.keys()] };
}

function drawNodes(graph: Graph): Drawing {
  const nodes = [...graph.nodes.values()].map(({ id, raw, inner }) => {
    const shape = agentShape(id, id, raw.Agent ?? `sub-graph ${raw.SubGraphId ?? ''}`);
    return inner === null ? shape : { ...shape, kind: 'tool' as const };
  });
  const edges = [...graph.nodes.values()].flatMap(({ edges: own }) =>
    own.map(({ raw, back, checks }) => {
      const kind = graph.nodes.get(raw.To)?.raw.Parallel === true ? 'branch' : 'route';
      return guarded(edgeShape(raw.From, raw.To, raw.Keyword ?? null, back, kind), checks, raw.RequireHumanApproval);
    }),
  );
  const ends = [...graph.nodes.values()].flatMap(({ id, raw, checks }) =>
    raw.Terminal ? [guarded(edgeShape(id, END.id), checks)] : [],
  );
  return {
    nodes: [START, ...nodes, ...(ends.length > 0 ? [END] : [])],
    edges: [edgeShape(START.id, graph.entry), ...edges, ...ends],
  };
}
