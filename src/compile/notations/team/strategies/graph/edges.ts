/** Checks the edges of a graph: every node leads on, every edge can be taken, and parallel nodes join again. */
import type { Reading } from '../../model.ts';
import { isPoison } from '../../../../document/shape/poison.ts';
import { same, sameTrigger } from '../routing.ts';
import { isOpen, leadsOn, mergeOf } from './model.ts';
import type { Edge, Graph, GraphNode } from './model.ts';

export function checkEdges(node: GraphNode, graph: Graph, reading: Reading): void {
  const { report, at, body } = reading;
  const { id, raw, path } = node;
  const edges = node.edges.filter((edge) => !isPoison(edge.raw.To));
  if (raw.Terminal) {
    for (const edge of edges)
      report.warning(
        'unreachable-route',
        at(...edge.path, 'To'),
        `the edge from the terminal node \`${id}\` to \`${edge.raw.To}\` is never taken`,
        { help: 'Put the choice on a node before it.' },
      );
    return;
  }
  if (raw.Validators !== undefined)
    report.warning(
      'unused-field',
      body.key(...path, 'Validators'),
      `\`Validators\` of \`${id}\` has no effect: it is no terminal node`,
      { help: 'Put them on the edges that leave it.' },
    );
  if (!leadsOn(node) && !mayLeadOn(node, graph, reading))
    report.error('no-way-out', at(...path, 'Id'), `node \`${id}\` is not terminal and no edge leaves it`, {
      help: 'Add an edge, or set `Terminal: true`.',
    });
  for (const edge of edges) warnOfCovered(node, graph, edges, edge, reading);
}

/** True if an edge that could not be read, or that starts nowhere, may leave the node. */
function mayLeadOn({ path }: GraphNode, { raw, nodes }: Graph, { body }: Reading): boolean {
  return (
    body.damaged(...path) ||
    body.damaged(...path.slice(0, -2), 'Edges') ||
    raw.Edges.some(({ From }) => !nodes.has(From))
  );
}

/** Warns of an edge that no agent of the node may take, or that an earlier edge always precedes. */
function warnOfCovered(
  node: GraphNode,
  graph: Graph,
  edges: readonly Edge[],
  edge: Edge,
  { report, at }: Reading,
): void {
  const earlier = earlierOf(node, graph, edges, edge);
  const nobody = !isOpen(node, edge);
  if (!nobody && (earlier === undefined || earlier.raw.SourceAgents !== undefined)) return;
  const why = nobody
    ? `nobody who speaks in \`${node.id}\` is among its \`SourceAgents\``
    : `the edge to \`${earlier?.raw.To ?? ''}\` always is before it`;
  report.warning(
    'unreachable-route',
    at(...edge.path, 'To'),
    `the edge from \`${node.id}\` to \`${edge.raw.To}\` is never taken: ${why}`,
    { help: 'Leave it out, or give it a keyword of its own.' },
  );
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
export function checkParallel(graph: Graph, reading: Reading): void {
  for (const node of graph.nodes.values()) if (node.raw.Parallel) checkMember(node, graph, reading);
  for (const node of graph.nodes.values()) {
    if (node.raw.Parallel) continue;
    const open = node.edges.find(
      ({ raw }) => graph.nodes.get(raw.To)?.raw.Parallel === true && mergeOf(graph, node, raw.Keyword) === null,
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

function checkMember({ id, raw, path, edges }: GraphNode, graph: Graph, { report, at, body }: Reading): void {
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
      report.warning(
        'unreachable-route',
        at(...edge.path, 'To'),
        `the edge from the parallel node \`${id}\` back to \`${edge.raw.To}\` is never taken`,
        { help: 'Let the node after the join lead back.' },
      );
    else if (graph.nodes.get(edge.raw.To)?.raw.Parallel === true)
      report.error(
        'bad-parallel',
        at(...edge.path, 'To'),
        `\`${id}\` and \`${edge.raw.To}\` are both parallel, and groups cannot be nested`,
        { help: 'Let the first group come together before the second.' },
      );
  }
}
