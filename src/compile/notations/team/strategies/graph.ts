/**
 * `graph`: each node is somebody's place, and only its own edges lead on, by a keyword alone on its line. Edges are tried in
 * the order of the document and the first that fits is taken; one that leads back begins a new phase.
 */
import type { Case, NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { addBadTurn } from '../bad-turn.ts';
import type { Correction, Site } from '../bad-turn.ts';
import { choiceOf, heard, silenceOf } from '../corrections.ts';
import { addGate } from '../gate.ts';
import { addEdgeGate, passedOn } from './graph-edge.ts';
import { addGroup } from './graph-group.ts';
import type { Graph, GraphNode, Way } from './graph-model.ts';
import { distinct, same } from './keyword.ts';
import { addLet, addPick, member } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { mergeOf } from '../read/graph-ways.ts';
import { HEARD, clean, set } from '../slots.ts';
import { addInner } from './sub-graph.ts';
import { addTermination } from '../termination.ts';
import { addTeamTurn } from '../turn.ts';

const PHASE = 'phase';

/** `done` is where a terminal node leads; its message is in `said`. */
export function lowerGraph(l: Lowering, graph: Graph, done: NodeId): NodeId {
  for (const node of graph.nodes.values()) if (!node.raw.Parallel) addNode(l, graph, node, done);
  return addLet(l, `${l.prefix}phase`, graph.entry, [set(PHASE, '1')], idOf(l, graph.entry));
}

function idOf(l: Lowering, id: string): NodeId {
  return l.builder.idOf(`${l.prefix}${id}`);
}

export function siteOf(l: Lowering, graph: Graph, node: GraphNode, again: NodeId, hint: string): Site {
  return {
    agent: node.raw.Agent ?? node.id,
    hint,
    origin: `${l.prefix}${node.id}`,
    again,
    limit: graph.raw.MaxRetries + 1,
    ...(node.inner === null ? {} : { witness: '', speakers: node.speakers }),
  };
}

function addNode(l: Lowering, graph: Graph, node: GraphNode, done: NodeId): void {
  const begin = idOf(l, node.id);
  const site = siteOf(l, graph, node, begin, `${l.prefix}${node.id}`);
  const next = node.raw.Terminal
    ? addLast(l, site, node, done)
    : addWays(l, graph, node, site, (way) => addWay(l, graph, node, way, site));
  addWork(l, node, site, begin, next);
}

/** The node's agent has its turn, or what stands in its place runs. */
export function addWork(l: Lowering, node: GraphNode, site: Site, begin: NodeId, next: NodeId): NodeId {
  const at = l.at(...node.path, 'Id');
  if (node.inner !== null) return addInner(l, node, node.inner, begin, next, lowerGraph);
  return addTeamTurn(l, { agent: site.agent, hint: site.hint, origin: site.origin, enters: node.id, begin, at, next });
}

/** A terminal node runs once; its validators must let the session end. */
function addLast(l: Lowering, site: Site, node: GraphNode, done: NodeId): NodeId {
  return addGate(l, {
    site,
    key: `${site.hint}::end`,
    what: 'the end of the session',
    checks: node.checks,
    approval: null,
    recovery: null,
    pass: done,
  });
}

/** What was said decides which way is taken; `take` says where a way leads. */
export function addWays(
  l: Lowering,
  graph: Graph,
  node: GraphNode,
  site: Site,
  take: (way: Way) => NodeId,
  among: readonly Way[] = node.ways,
): NodeId {
  const open = among.filter(
    ({ raw }) => raw.SourceAgents === undefined || node.speakers.some((agent) => raw.SourceAgents?.includes(agent)),
  );
  const words = distinct(open.flatMap(({ raw }) => raw.Keyword ?? []));
  const cases: Case[] = [];
  for (const way of open) {
    const { Keyword } = way.raw;
    const word = words.find((each) => Keyword !== undefined && same(each, Keyword));
    // The rest of a group goes with its first edge.
    const first = open.find(({ raw }) =>
      raw.Keyword === undefined || Keyword === undefined ? raw.Keyword === Keyword : same(raw.Keyword, Keyword),
    );
    if (first !== way && mergeOf(graph, node, Keyword) !== null) continue;
    cases.push({ when: word === undefined ? 'true' : `${quote(word)} in ${HEARD}`, to: take(way) });
    if (word === undefined) break;
  }
  const last = cases.at(-1);
  const automatic = last?.when === 'true' ? last.to : null;
  const otherwise = automatic ?? addTermination(l, site, addSilence(l, node, site, choiceOf('keyword', words)));
  if (words.length === 0) return otherwise;
  const routed = addPick(
    l,
    `${site.hint}.route`,
    site.origin,
    automatic === null ? cases : cases.slice(0, -1),
    otherwise,
  );
  return addLet(l, `${site.hint}.listen`, site.origin, [set(HEARD, heard(words, true))], routed);
}

function addSilence(l: Lowering, node: GraphNode, site: Site, choice: string): NodeId {
  const generic: Correction = {
    type: 'no_keyword_generic',
    text: quote(`No keyword of ${node.id} emitted. ${choice}`),
  };
  const silence = node.inner === null ? silenceOf(member(l, site.agent), generic, choice) : { corrections: [generic] };
  return addBadTurn(l, site, { what: 'no keyword of this node', ...silence });
}

/** Evidence, then a person, then on: to the next node, to a group of them, or back into a new phase. */
function addWay(l: Lowering, graph: Graph, node: GraphNode, way: Way, site: Site): NodeId {
  const { raw, back } = way;
  const group = mergeOf(graph, node, raw.Keyword);
  const onward =
    group === null || graph.nodes.get(raw.To)?.raw.Parallel !== true
      ? idOf(l, raw.To)
      : addGroup(l, graph, node, way, idOf(l, group), { addWays, addWork, siteOf });
  const fired = [...clean(), ...(back ? [set(PHASE, `${PHASE} + 1`)] : [])];
  const fire = addLet(
    l,
    `${site.hint}.${back ? 'back' : 'fire'}:${raw.To}`,
    site.origin,
    fired,
    addTermination(l, site, onward, passedOn(way)),
  );
  return addEdgeGate(l, site, way, fire);
}
