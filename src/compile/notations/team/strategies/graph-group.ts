/**
 * Parallel nodes: all that one keyword of a node leads to run at the same time, each with the history as it was and with
 * corrections of its own until it may go on. They come together at the first node that one of them leads on to.
 */
import type { NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import type { Site } from '../bad-turn.ts';
import { addFork } from './fan-out.ts';
import { addEnding, branchOf } from './fan-out-end.ts';
import { addEdgeGate, passedOn } from './graph-edge.ts';
import type { Graph, GraphNode, Way } from './graph-model.ts';
import { addLet, addPick, exhausted } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { groupOf } from '../read/graph-ways.ts';
import { BRANCHES, SAID, TURNS, clean, set, tell } from '../slots.ts';
import { addTermination } from '../termination.ts';

/** What lowers a node; handed in, since a group is made of nodes and a node leads to groups. */
export interface Parts {
  readonly addWays: (
    l: Lowering,
    graph: Graph,
    node: GraphNode,
    site: Site,
    take: (way: Way) => NodeId,
    among: readonly Way[],
  ) => NodeId;
  readonly addWork: (l: Lowering, node: GraphNode, site: Site, begin: NodeId, next: NodeId) => NodeId;
  readonly siteOf: (l: Lowering, graph: Graph, node: GraphNode, again: NodeId, hint: string) => Site;
}

export function addGroup(l: Lowering, graph: Graph, node: GraphNode, way: Way, next: NodeId, parts: Parts): NodeId {
  const origin = `${l.prefix}${node.id}`;
  const hint = `${origin}.group${way.index}`;
  const members = groupOf(graph, node, way.raw.Keyword);
  const branch = branchOf(l, hint, origin);
  const heads = members.map((each) => ({
    name: each.raw.Agent === undefined ? each.id : `${each.raw.Agent} (node: ${each.id})`,
    to: addBranch(branch, graph, each, `${hint}.${each.id}`, parts),
  }));
  const joined = addLet(
    l,
    `${hint}.joined`,
    origin,
    [
      ...clean(),
      tell('null', null, { outputs: BRANCHES, label: quote('[parallel result from {name}]') }),
      set(SAID, `${BRANCHES}["${members.length - 1}"].output`),
    ],
    next,
  );
  const fork = addFork(l, hint, origin, { heads }, 0, addEnding(l, hint, origin, joined));
  if (l.meter === null) return fork;
  return addPick(
    l,
    `${hint}.room`,
    origin,
    [{ when: `size(${TURNS}) + ${members.length} > ${l.turnsMax}`, to: exhausted(l) }],
    fork,
  );
}

/** A branch ends when it takes a way forward; where it has none, after one turn. */
function addBranch(
  l: Lowering,
  graph: Graph,
  node: GraphNode,
  hint: string,
  { addWays, addWork, siteOf }: Parts,
): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const begin = l.builder.fresh(hint);
  const site = siteOf(l, graph, node, begin, hint);
  const forward = node.ways.filter(({ back }) => !back);
  const take = (way: Way): NodeId => addEdgeGate(l, site, way, addTermination(l, site, done, passedOn(way)));
  const next = forward.length === 0 ? addTermination(l, site, done) : addWays(l, graph, node, site, take, forward);
  addWork(l, node, site, begin, next);
  return addLet(l, `${hint}.start`, site.origin, clean(), begin);
}
