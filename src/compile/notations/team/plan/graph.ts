/** The plan of a graph: read with everything inside it, and able to end. */
import { reachableFrom } from '../../../verify/components.ts';
import { canEnd, demandTermination } from '../demand.ts';
import { lowerGraph } from '../strategies/graph.ts';
import type { Graph, GraphNode } from '../strategies/graph-model.ts';
import { success } from '../lowering.ts';
import type { Reading, Team } from '../model.ts';
import { START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { lacking } from './phases.ts';
import { readGraph } from '../read/graph.ts';

export function planGraph(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.Graph;
  if (raw === undefined) return lacking(reading, 'graph', 'Graph');
  const graph = readGraph(raw, ['Selection', 'Graph'], reading);
  demandEnd(reading, team, graph, null);
  return { turnsMax: null, lower: (l) => lowerGraph(l, graph, success(l)), ...draw(graph) };
}

/** A graph ends at a terminal node. The session may also end by what is said in it, unless it runs inside a node. */
function demandEnd(reading: Reading, team: Team, graph: Graph, inside: GraphNode | null): void {
  for (const node of graph.nodes.values())
    if (node.inner?.is === 'graph') demandEnd(reading, team, node.inner.graph, node);
  if (!graph.whole || !reading.body.sound) return;
  const reached = reachableFrom([graph.entry], (id) => graph.nodes.get(id)?.ways.map(({ raw: { To } }) => To) ?? []);
  const terminal = [...graph.nodes.values()].filter(({ raw }) => raw.Terminal);
  if (terminal.some(({ id }) => reached.has(id))) return;
  const speakers = inside === null ? [...reached].flatMap((id) => graph.nodes.get(id)?.speakers ?? []) : [];
  if (canEnd(team, speakers)) return;
  for (const { id, path } of terminal)
    reading.report.error(
      'unreachable-node',
      reading.at(...path, 'Id'),
      `the terminal node \`${id}\` is never reached`,
      {
        help: 'Add an edge that leads to it.',
      },
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

function draw(graph: Graph): Pick<Plan, 'nodes' | 'edges'> {
  const nodes = [...graph.nodes.values()].map(({ id, raw }) =>
    agentShape(id, id, raw.Agent ?? `sub-graph ${raw.SubGraphId ?? ''}`, null, raw.Terminal ? 'terminal' : 'agent'),
  );
  const edges = [...graph.nodes.values()].flatMap(({ ways }) =>
    ways.map(({ raw, back }) =>
      edgeShape(
        raw.From,
        raw.To,
        raw.Keyword ?? null,
        back,
        graph.nodes.get(raw.To)?.raw.Parallel === true ? 'branch' : 'route',
      ),
    ),
  );
  return { nodes: [START, ...nodes], edges: [edgeShape(START.id, graph.entry, null), ...edges] };
}
