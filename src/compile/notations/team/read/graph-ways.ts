/** The ways out of a node: that there is one, that each can be taken, and that parallel nodes come together again. */
import type { Graph, GraphNode, Way } from '../strategies/graph-model.ts';
import { same } from '../strategies/keyword.ts';
import type { Reading } from '../model.ts';
import { isPoison } from '../../../document/shape/poison.ts';

export function checkWays(node: GraphNode, graph: Graph, reading: Reading): void {
  const { report, at, body } = reading;
  const { id, raw, path } = node;
  const ways = node.ways.filter((way) => !isPoison(way.raw.To));
  if (raw.Terminal) {
    for (const way of ways)
      report.warning(
        'unreachable-route',
        at(...way.path, 'To'),
        `the edge from the terminal node \`${id}\` to \`${way.raw.To}\` is never taken`,
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
  for (const [index, way] of ways.entries()) {
    const { Keyword, To } = way.raw;
    const isParallel = ({ raw: { To: target } }: Way): boolean => graph.nodes.get(target)?.raw.Parallel === true;
    // A group is taken with the first edge of its keyword, wherever the others stand.
    const first = ways.find((each) => sameTrigger(each.raw.Keyword, Keyword) && isOpen(node, each)) ?? way;
    const place = isParallel(way) && isParallel(first) ? Math.min(ways.indexOf(first), index) : index;
    const earlier = ways
      .slice(0, place)
      .find(
        ({ raw: before }) => before.Keyword === undefined || (Keyword !== undefined && same(before.Keyword, Keyword)),
      );
    const nobody = !isOpen(node, way);
    const why = nobody
      ? `nobody who speaks in \`${id}\` is among its \`SourceAgents\``
      : earlier === undefined
        ? null
        : `the edge to \`${earlier.raw.To}\` always is before it`;
    if (why !== null && (nobody || earlier?.raw.SourceAgents === undefined))
      report.warning(
        'unreachable-route',
        at(...way.path, 'To'),
        `the edge from \`${id}\` to \`${To}\` is never taken: ${why}`,
        { help: 'Leave it out, or give it a keyword of its own.' },
      );
  }
}

/** Whether an edge that could not be read, or that starts nowhere, may be the one that leaves the node. */
function mayLeadOn({ path }: GraphNode, { raw, nodes }: Graph, { body }: Reading): boolean {
  return (
    body.damaged(...path) ||
    body.damaged(...path.slice(0, -2), 'Edges') ||
    raw.Edges.some(({ From }) => !nodes.has(From))
  );
}

/** Whether anybody who speaks in the node may take the edge. */
function isOpen({ speakers }: GraphNode, { raw: { SourceAgents } }: Way): boolean {
  return SourceAgents === undefined || speakers.some((agent) => SourceAgents.includes(agent));
}

/** Whether the session can go on after the node, or end there. */
export function leadsOn({ raw, ways }: GraphNode): boolean {
  return ways.length > 0 || raw.Terminal || raw.Parallel;
}

export function sameTrigger(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined ? a === b : same(a, b);
}

/** A group is entered by one keyword and comes together at the first node that one of its members leads on to. */
export function checkParallel(graph: Graph, { report, at, body }: Reading): void {
  for (const node of graph.nodes.values()) {
    const { id, raw, path, ways } = node;
    if (!raw.Parallel) continue;
    if (raw.Terminal)
      report.error('bad-parallel', at(...path, 'Id'), `node \`${id}\` is both parallel and terminal`, {
        help: 'Let the parallel nodes lead on to a terminal one.',
      });
    // The first node is the entry unless told, and it may be one that could not be read.
    if (graph.entry === id && (graph.raw.EntryNode !== undefined || !body.damaged(...path.slice(0, -1))))
      report.error(
        'bad-parallel',
        at(...path, 'Id'),
        `the entry \`${id}\` is a parallel node, but nothing fans out to it`,
        { help: 'Begin with a node that is not parallel.' },
      );
    for (const way of ways) {
      if (way.back)
        report.warning(
          'unreachable-route',
          at(...way.path, 'To'),
          `the edge from the parallel node \`${id}\` back to \`${way.raw.To}\` is never taken`,
          { help: 'Let the node after the join lead back.' },
        );
      else if (graph.nodes.get(way.raw.To)?.raw.Parallel === true)
        report.error(
          'bad-parallel',
          at(...way.path, 'To'),
          `\`${id}\` and \`${way.raw.To}\` are both parallel, and groups cannot be nested`,
          { help: 'Let the first group come together before the second.' },
        );
    }
  }
  for (const node of graph.nodes.values()) {
    for (const way of node.ways) {
      if (
        node.raw.Parallel ||
        graph.nodes.get(way.raw.To)?.raw.Parallel !== true ||
        mergeOf(graph, node, way.raw.Keyword) !== null
      )
        continue;
      report.error(
        'bad-parallel',
        at(...way.path, 'To'),
        `the parallel nodes after \`${node.id}\` lead on to no node where they come together`,
        { help: 'Add an edge from one of them to the node that goes on.' },
      );
      return;
    }
  }
}

/** The members of the group that a keyword of a node starts, in the order of the document. */
export function groupOf(graph: Graph, node: GraphNode, keyword: string | undefined): readonly GraphNode[] {
  return node.ways.flatMap(({ raw }) => {
    const target = graph.nodes.get(raw.To);
    return target?.raw.Parallel === true && sameTrigger(raw.Keyword, keyword) ? [target] : [];
  });
}

export function mergeOf(graph: Graph, node: GraphNode, keyword: string | undefined): string | null {
  for (const each of groupOf(graph, node, keyword)) for (const { raw, back } of each.ways) if (!back) return raw.To;
  return null;
}
