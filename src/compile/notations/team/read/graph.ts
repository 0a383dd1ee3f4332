/** Reads a graph and the graphs inside it: every end of every edge exists, every node leads somewhere. */
import { declareIds, namesAt } from '../../../document/names.ts';
import type { Path } from '../../../source/located.ts';
import type { Graph, GraphNode, Inner, Way } from '../strategies/graph-model.ts';
import { layersOf } from '../strategies/graph-layers.ts';
import type { Layers } from '../strategies/graph-layers.ts';
import type { Reading } from '../model.ts';
import { readChecks } from './checks.ts';
import { checkParallel, checkWays, leadsOn } from './graph-ways.ts';
import { readMapReduce, readScatterGather } from './phases.ts';
import { GRAPH_KEYS } from '../schema/graph.ts';
import type { RawGraph, RawNode } from '../schema/graph.ts';
import { isPoison } from '../../../document/shape/poison.ts';

const NESTING_MAX = 8;

export function readGraph(raw: RawGraph, path: Path, reading: Reading, depth = 0): Graph {
  const { report, at, body } = reading;
  const located = body.located(...path, 'Nodes');
  const declared = declareIds(located, report, { what: 'node', key: 'Id' });
  const known = (name: string, place: Path, code: 'unknown-target' | 'unknown-entry', what: string): boolean => {
    if (declared.has(name)) return true;
    const near = declared.near(name);
    report.error(code, at(...place), what, {
      help: near === undefined ? 'Declare it under `Nodes`.' : `Did you mean \`${near}\`?`,
    });
    return false;
  };
  const entry = raw.EntryNode ?? raw.Nodes[0]?.Id ?? '';
  const begins =
    raw.EntryNode === undefined ||
    known(
      raw.EntryNode,
      [...path, 'EntryNode'],
      'unknown-entry',
      `the entry node \`${raw.EntryNode}\` is not in \`Nodes\``,
    );
  const layers = layersOf(entry, raw.Edges);
  const ways = raw.Edges.map((edge, index): Way => {
    const place: Path = [...path, 'Edges', index];
    known(edge.From, [...place, 'From'], 'unknown-target', `an edge starts at \`${edge.From}\`, which does not exist`);
    known(edge.To, [...place, 'To'], 'unknown-target', `an edge leads to \`${edge.To}\`, which does not exist`);
    for (const [each, name] of (edge.SourceAgents ?? []).entries())
      reading.agent(name, [...place, 'SourceAgents', each]);
    if (edge.RecoveryAgent !== undefined) reading.agent(edge.RecoveryAgent, [...place, 'RecoveryAgent']);
    warnOfCross(edge, place, layers, reading);
    // The list takes the place of the single one where both are given.
    const { Validator: _, ...rest } = edge;
    return {
      raw: edge,
      index,
      path: place,
      checks: readChecks(edge.Validators === undefined ? edge : rest, place, reading),
      back: layers.isBack(edge),
    };
  });
  const nodes = new Map<string, GraphNode>();
  for (const [index, node] of raw.Nodes.entries()) {
    const place: Path = [...path, 'Nodes', index];
    const inner = innerOf(node, raw, path, place, reading, depth);
    if (nodes.has(node.Id)) continue;
    nodes.set(node.Id, {
      id: node.Id,
      raw: node,
      path: place,
      checks: readChecks({ Validators: node.Validators }, place, reading),
      ways: ways.filter((way) => way.raw.From === node.Id),
      inner,
      speakers: inner === null ? [node.Agent ?? ''] : speakersOf(inner),
    });
  }
  const whole =
    begins &&
    nodes.size === raw.Nodes.length &&
    raw.Edges.every(({ From, To }) => declared.all.has(From) && declared.all.has(To)) &&
    [...nodes.values()].every(leadsOn);
  const graph: Graph = { raw, entry, nodes, whole };
  for (const node of nodes.values()) checkWays(node, graph, reading);
  checkParallel(graph, reading);
  warnOfUnused(raw, path, reading);
  return graph;
}

function innerOf(
  node: RawNode,
  graph: RawGraph,
  path: Path,
  place: Path,
  reading: Reading,
  depth: number,
): Inner | null {
  const { report, at } = reading;
  if (node.Agent !== undefined) reading.agent(node.Agent, [...place, 'Agent']);
  if (node.SubGraphId === undefined) {
    if (node.Agent === undefined && !reading.body.damaged(...place))
      report.error('missing-agent', at(...place), `node \`${node.Id}\` names neither an agent nor a sub-graph`, {
        help: 'Add `Agent` or `SubGraphId`.',
      });
    return null;
  }
  if (node.Agent !== undefined)
    report.error(
      'bad-value',
      reading.body.key(...place, 'Agent'),
      `node \`${node.Id}\` names both an agent and a sub-graph`,
      { help: 'Keep one of them.' },
    );
  const spec = Object.hasOwn(graph.SubGraphs, node.SubGraphId) ? graph.SubGraphs[node.SubGraphId] : undefined;
  if (spec === undefined) {
    const declared = namesAt(reading.body.located(...path), 'SubGraphs', GRAPH_KEYS);
    if (declared.has(node.SubGraphId)) return null;
    const near = declared.near(node.SubGraphId);
    report.error('unknown-sub-graph', at(...place, 'SubGraphId'), `unknown sub-graph \`${node.SubGraphId}\``, {
      help: near === undefined ? 'Declare it under `SubGraphs`.' : `Did you mean \`${near}\`?`,
    });
    return null;
  }
  const below: Path = [...path, 'SubGraphs', node.SubGraphId];
  if (depth + 1 > NESTING_MAX) {
    report.error('bad-value', at(...below), `graphs are nested more than ${NESTING_MAX} deep`, {
      help: 'Flatten them.',
    });
    return null;
  }
  if (spec.Graph !== undefined)
    return { is: 'graph', graph: readGraph(spec.Graph, [...below, 'Graph'], reading, depth + 1) };
  if (spec.MapReduce !== undefined)
    return { is: 'mapreduce', raw: readMapReduce(spec.MapReduce, [...below, 'MapReduce'], reading) };
  if (spec.ScatterGather !== undefined)
    return { is: 'scattergather', raw: readScatterGather(spec.ScatterGather, [...below, 'ScatterGather'], reading) };
  return null;
}

/** Whose words are the last ones of what runs inside a node. */
function speakersOf(inner: Inner): readonly string[] {
  switch (inner.is) {
    case 'graph':
      return [...inner.graph.nodes.values()].filter(({ raw }) => raw.Terminal).flatMap(({ speakers }) => speakers);
    case 'mapreduce':
      return [inner.raw.Reducer];
    case 'scattergather':
      return [inner.raw.Synthesizer];
  }
}

function warnOfCross(edge: RawGraph['Edges'][number], path: Path, layers: Layers, { report, at }: Reading): void {
  if (!layers.isCross(edge) || isPoison(edge.To)) return;
  report.warning(
    'unequal-arms',
    at(...path, 'To'),
    `the edge from \`${edge.From}\` to \`${edge.To}\` counts as leading back, although \`${edge.To}\` does not come before \`${edge.From}\``,
    {
      help: 'A shorter way leads to the same node. Taking this edge begins a new phase.',
    },
  );
}

function warnOfUnused(raw: RawGraph, path: Path, { report, body }: Reading): void {
  for (const id of Object.keys(raw.SubGraphs)) {
    if (raw.Nodes.some(({ SubGraphId }) => SubGraphId === id)) continue;
    report.warning(
      'unreachable-node',
      body.key(...path, 'SubGraphs', id),
      `the sub-graph \`${id}\` is never run: no node names it`,
      { help: 'Leave it out, or name it in a `SubGraphId`.' },
    );
  }
}
