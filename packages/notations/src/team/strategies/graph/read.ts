/** Reads a graph and its sub-graphs: every end of every edge exists, every node leads on. */
import { declareIds, isPoison, namesAt } from '@sluice-internal/compile/document';
import type { Path } from '@sluice-internal/compile/source';
import { readChecks, readRunGate } from '../../checks.ts';
import type { Reading } from '../../model.ts';
import { checkMapReduce } from '../mapreduce.ts';
import { checkScatterGather } from '../scattergather.ts';
import { graphKeys, groupOf, isOpen, layersOf, leadsOn, mergeOf } from './model.ts';
import type { Edge, Graph, GraphNode, Inner, Layers, RawEdge, RawGraph, RawNode, RawSubGraph } from './model.ts';
import { same, sameTrigger } from '../routing.ts';

const NESTING_MAX = 8;

export function readGraph(raw: RawGraph, path: Path, reading: Reading, depth = 0): Graph {
  const declared = declaredIn(path, reading);
  const entry = raw.EntryNode ?? raw.Nodes[0]?.Id ?? '';
  const begins =
    raw.EntryNode === undefined ||
    declared.check(raw.EntryNode, [...path, 'EntryNode'], (id) => `the entry node \`${id}\` is not in \`Nodes\``);
  const layers = layersOf(entry, raw.Edges);
  const edges = raw.Edges.map((edge, index) =>
    readEdge(edge, index, [...path, 'Edges', index], declared, layers, reading),
  );
  const nodes = readNodes(raw, edges, path, reading, depth);
  const whole =
    begins &&
    nodes.size === raw.Nodes.length &&
    raw.Edges.every(({ From, To }) => declared.all.has(From) && declared.all.has(To)) &&
    [...nodes.values()].every(leadsOn);
  const graph: Graph = { raw, entry, nodes, whole };
  for (const node of nodes.values()) checkEdges(node, graph, reading);
  checkParallel(graph, path, reading);
  warnOfUnused(raw, path, reading);
  return graph;
}

interface Declared {
  readonly all: ReadonlySet<string>;
  /** Reports an id that is not declared. */
  check(id: string, place: Path, message: (id: string) => string): boolean;
}

function declaredIn(path: Path, { body, report, at }: Reading): Declared {
  const ids = declareIds(body.located(...path, 'Nodes'), report, { what: 'node', key: 'Id' });
  return {
    all: ids.all,
    check(id, place, message) {
      if (ids.has(id)) return true;
      const code = place.at(-1) === 'EntryNode' ? 'unknown-entry' : 'unknown-target';
      report.error(code, at(...place), message(id), { help: ids.help(id, 'Declare it under `Nodes`.') });
      return false;
    },
  };
}

function readEdge(raw: RawEdge, index: number, path: Path, declared: Declared, layers: Layers, reading: Reading): Edge {
  const { From, To, SourceAgents, RecoveryAgent } = raw;
  declared.check(From, [...path, 'From'], (id) => `an edge starts at \`${id}\`, which does not exist`);
  declared.check(To, [...path, 'To'], (id) => `an edge leads to \`${id}\`, which does not exist`);
  reading.agents(SourceAgents, [...path, 'SourceAgents']);
  if (RecoveryAgent !== undefined) reading.agent(RecoveryAgent, [...path, 'RecoveryAgent']);
  warnOfCross(raw, path, layers, reading);
  // `Validators` takes precedence over `Validator`.
  const { Validator: _, ...rest } = raw;
  const evidence = readChecks(raw.Validators === undefined ? raw : rest, path, reading);
  const checks = [...evidence, ...readRunGate(raw, reading)];
  return { raw, index, path, checks, back: layers.isBack(raw) };
}

function readNodes(
  raw: RawGraph,
  edges: readonly Edge[],
  path: Path,
  reading: Reading,
  depth: number,
): ReadonlyMap<string, GraphNode> {
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
      edges: edges.filter((edge) => edge.raw.From === node.Id),
      inner,
      speakers: inner === null ? [node.Agent ?? ''] : speakersOf(inner),
    });
  }
  return nodes;
}

/** The sub-graph of a node; null if the node has an agent. */
function innerOf(
  node: RawNode,
  graph: RawGraph,
  path: Path,
  place: Path,
  reading: Reading,
  depth: number,
): Inner | null {
  const { report, at, body } = reading;
  if (node.Agent !== undefined) reading.agent(node.Agent, [...place, 'Agent']);
  if (node.SubGraphId === undefined) {
    if (node.Agent === undefined && !body.damaged(...place))
      report.error('missing-agent', at(...place), `node \`${node.Id}\` names neither an agent nor a sub-graph`, {
        help: 'Add `Agent` or `SubGraphId`.',
      });
    return null;
  }
  if (node.Agent !== undefined)
    report.error('bad-value', body.key(...place, 'Agent'), `node \`${node.Id}\` names both an agent and a sub-graph`, {
      help: 'Keep one of them.',
    });
  const spec = subGraphOf(node.SubGraphId, graph, path, place, reading);
  if (spec === undefined) return null;
  const below: Path = [...path, 'SubGraphs', node.SubGraphId];
  const most = Math.min(NESTING_MAX, (reading.depthMax ?? Infinity) - 1);
  if (depth + 1 <= most) return readInner(spec, below, reading, depth);
  report.error('bad-value', at(...below), `graphs are nested more than ${most} deep`, {
    help: most === NESTING_MAX ? 'Flatten them.' : 'Flatten them, or set `protections.depth`.',
  });
  return null;
}

function subGraphOf(id: string, graph: RawGraph, path: Path, place: Path, reading: Reading): RawSubGraph | undefined {
  if (Object.hasOwn(graph.SubGraphs, id)) return graph.SubGraphs[id];
  const declared = namesAt(reading.body.located(...path), 'SubGraphs', graphKeys());
  if (declared.has(id)) return undefined;
  const help = declared.help(id, 'Declare it under `SubGraphs`.');
  reading.report.error('unknown-sub-graph', reading.at(...place, 'SubGraphId'), `unknown sub-graph \`${id}\``, {
    help,
  });
  return undefined;
}

function readInner(spec: RawSubGraph, path: Path, reading: Reading, depth: number): Inner | null {
  if (spec.Graph !== undefined)
    return { is: 'graph', graph: readGraph(spec.Graph, [...path, 'Graph'], reading, depth + 1) };
  if (spec.MapReduce !== undefined)
    return { is: 'mapreduce', raw: checkMapReduce(spec.MapReduce, [...path, 'MapReduce'], reading) };
  if (spec.ScatterGather !== undefined)
    return { is: 'scattergather', raw: checkScatterGather(spec.ScatterGather, [...path, 'ScatterGather'], reading) };
  return null;
}

/** The agents who may write the message that a sub-graph returns. */
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

function warnOfCross(edge: RawEdge, path: Path, layers: Layers, { report, at }: Reading): void {
  if (!layers.isCross(edge) || isPoison(edge.To)) return;
  report.warning(
    'unequal-arms',
    at(...path, 'To'),
    `the edge from \`${edge.From}\` to \`${edge.To}\` counts as leading back, although \`${edge.To}\` does not come before \`${edge.From}\``,
    { help: 'A shorter way leads to the same node. Taking this edge begins a new phase.' },
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

function checkEdges(node: GraphNode, graph: Graph, reading: Reading): void {
  const { report, at } = reading;
  const { id, raw, path } = node;
  const edges = node.edges.filter((edge) => !isPoison(edge.raw.To));
  if (raw.Terminal) {
    const from = `the terminal node \`${id}\` to`;
    for (const edge of edges) neverTaken(edge, from, '', 'Put the choice on a node before it.', reading);
    return;
  }
  if (raw.Validators !== undefined)
    reading.unused(
      [...path, 'Validators'],
      `\`Validators\` of \`${id}\` has no effect: it is not a terminal node`,
      'Put them on the edges that leave it.',
    );
  if (!leadsOn(node) && !mayLeadOn(node, graph, reading))
    report.error('no-way-out', at(...path, 'Id'), `node \`${id}\` is not terminal and no edge leaves it`, {
      help: 'Add an edge, or set `Terminal: true`.',
    });
  for (const edge of edges) warnOfCovered(node, graph, edges, edge, reading);
}

/** True if an unreadable edge, or an edge without a start, may leave the node. */
function mayLeadOn({ path }: GraphNode, { raw, nodes }: Graph, { body }: Reading): boolean {
  return (
    body.damaged(...path) ||
    body.damaged(...path.slice(0, -2), 'Edges') ||
    raw.Edges.some(({ From }) => !nodes.has(From))
  );
}

/** Warns of an edge that no agent of the node may take, or that an earlier edge always precedes. */
function warnOfCovered(node: GraphNode, graph: Graph, edges: readonly Edge[], edge: Edge, reading: Reading): void {
  const earlier = earlierOf(node, graph, edges, edge);
  const isClosed = !isOpen(node, edge);
  if (!isClosed && (earlier === undefined || earlier.raw.SourceAgents !== undefined)) return;
  const why = isClosed
    ? `: no agent that speaks in \`${node.id}\` is among its \`SourceAgents\``
    : `: the edge to \`${earlier?.raw.To ?? ''}\` always comes first`;
  neverTaken(edge, `\`${node.id}\` to`, why, 'Leave it out, or give it a keyword of its own.', reading);
}

/** `from` names the start of the edge, up to the name of its target. */
function neverTaken(edge: Edge, from: string, why: string, help: string, { report, at }: Reading): void {
  const message = `the edge from ${from} \`${edge.raw.To}\` is never taken${why}`;
  report.warning('unreachable-route', at(...edge.path, 'To'), message, { help });
}

/** An earlier edge that fires on the same message. A parallel group counts as one edge, at the place of its first. */
function earlierOf(node: GraphNode, graph: Graph, edges: readonly Edge[], edge: Edge): Edge | undefined {
  const { Keyword } = edge.raw;
  const index = edges.indexOf(edge);
  const isParallel = ({ raw: { To } }: Edge): boolean => graph.nodes.get(To)?.raw.Parallel === true;
  const first = edges.find((each) => sameTrigger(each.raw.Keyword, Keyword) && isOpen(node, each)) ?? edge;
  const place = isParallel(edge) && isParallel(first) ? Math.min(edges.indexOf(first), index) : index;
  return edges
    .slice(0, place)
    .find(
      ({ raw: before }) => before.Keyword === undefined || (Keyword !== undefined && same(before.Keyword, Keyword)),
    );
}

/** A parallel group starts with one keyword and joins at the first node that one of its members leads on to. */
function checkParallel(graph: Graph, path: Path, reading: Reading): void {
  for (const node of graph.nodes.values()) if (node.raw.Parallel) checkMember(node, graph, reading);
  if (isDamaged(graph, path, reading)) return;
  for (const node of graph.nodes.values()) {
    if (node.raw.Parallel) continue;
    const open = node.edges.find(
      ({ raw: { To, Keyword } }) =>
        groupOf(graph, node, Keyword).some(({ raw }) => raw.To === To) && mergeOf(graph, node, Keyword) === null,
    );
    if (open === undefined) continue;
    reading.report.error(
      'bad-parallel',
      reading.at(...open.path, 'To'),
      `the parallel nodes after \`${node.id}\` lead on to no node where they come together`,
      { help: 'Add an edge from one of them to the node that goes on.' },
    );
    return;
  }
}

/** True if a part of a node or of an edge could not be read. */
function isDamaged({ raw }: Graph, path: Path, { body }: Reading): boolean {
  return (['Nodes', 'Edges'] as const).some(
    (key) => body.damaged(...path, key) || raw[key].some((_, index) => body.damaged(...path, key, index)),
  );
}

function checkMember({ id, raw, path, edges }: GraphNode, graph: Graph, reading: Reading): void {
  const { report, at, body } = reading;
  if (raw.Terminal)
    report.error('bad-parallel', at(...path, 'Id'), `node \`${id}\` is both parallel and terminal`, {
      help: 'Let the parallel nodes lead on to a terminal one.',
    });
  // Without `EntryNode` the first node is the entry, and that one may not have been read.
  if (graph.entry === id && (graph.raw.EntryNode !== undefined || !body.damaged(...path.slice(0, -1))))
    report.error(
      'bad-parallel',
      at(...path, 'Id'),
      `the entry \`${id}\` is a parallel node, but nothing fans out to it`,
      { help: 'Begin with a node that is not parallel.' },
    );
  for (const edge of edges) {
    if (edge.back)
      neverTaken(edge, `the parallel node \`${id}\` back to`, '', 'Let the node after the join lead back.', reading);
    else if (graph.nodes.get(edge.raw.To)?.raw.Parallel === true)
      report.error(
        'bad-parallel',
        at(...edge.path, 'To'),
        `\`${id}\` and \`${edge.raw.To}\` are both parallel, and groups cannot be nested`,
        { help: 'Let the first group come together before the second.' },
      );
  }
}
