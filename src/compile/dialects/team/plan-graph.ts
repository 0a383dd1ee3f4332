/** The plan of a graph: read with everything inside it, and able to end. */
import { reachableFrom } from '../../components.ts';
import { demandTermination } from './demand.ts';
import { lowerGraph } from './graph.ts';
import type { Graph } from './graph-model.ts';
import { success } from './lowering.ts';
import type { Reading, Team } from './model.ts';
import { START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { lacking } from './plan-phases.ts';
import { readGraph } from './read-graph.ts';

export function planGraph(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.Graph;
  if (raw === undefined) return lacking(reading, 'graph', 'Graph');
  const graph = readGraph(raw, ['Selection', 'Graph'], reading);
  const reached = reachableFrom([graph.entry], (id) => graph.nodes.get(id)?.ways.map(({ raw: { To } }) => To) ?? []);
  const ends = [...reached].some((id) => graph.nodes.get(id)?.raw.Terminal === true);
  if (!ends && reading.body.sound)
    demandTermination(
      reading,
      team,
      [...reached].flatMap((id) => graph.nodes.get(id)?.speakers ?? []),
    );
  return { turnsMax: null, lower: (l) => lowerGraph(l, graph, success(l)), ...draw(graph) };
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
