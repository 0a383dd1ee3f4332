/** Lowers a graph: one place for each node, one gate for each edge, one fork for each parallel group. */
import type { Case, ForkNode, NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, TALK, append, set } from '@sluice-internal/compile/lower';
import { addBadTurn, silentSite, type Correction, type Site } from '../../bad-turn.ts';
import { checkKey, distinctChecks } from '../../checks.ts';
import { choiceOf, matchedPhrases, silenceOf } from '../../corrections.ts';
import { addGate } from '../../gate.ts';
import { addOpenGates, type Way } from '../../open-gates.ts';
import { exhausted, member, part, type Lowering } from '../../lowering.ts';
import {
  BRANCHES,
  MATCHED,
  HISTORY,
  OUTPUT,
  REJECTED,
  MESSAGE,
  SIGNAL,
  TURN,
  TURNS,
  clean,
  enter,
  tell,
} from '../../slots.ts';
import { APPROVED, addTermination } from '../../termination.ts';
import { addTeamTurn, messagesWith } from '../../turn.ts';
import { addBranches, branchOf } from '../fan-out.ts';
import { distinct, same, sameTrigger } from '../routing.ts';
import { groupOf, isOpen, mergeOf, type Edge, type Graph, type GraphNode, type Inner } from './model.ts';
import { lowerMapReduce } from '../mapreduce.ts';
import { lowerScatterGather } from '../scattergather.ts';

const PHASE = 'phase';
/** Corrections in a row of a graph that sets no `MaxRetries`. */
const RETRIES = 4;

/** `done` follows a terminal node, whose message is in `message`. */
export function lowerGraph(l: Lowering, graph: Graph, done: NodeId): NodeId {
  for (const node of graph.nodes.values()) if (!node.raw.Parallel) addNode(l, graph, node, done);
  return l.kit.set({ hint: `${l.prefix}phase`, origin: graph.entry }, [set(PHASE, '1')], idOf(l, graph.entry));
}

function idOf(l: Lowering, id: string): NodeId {
  return l.builder.idOf(`${l.prefix}${id}`);
}

function siteOf(l: Lowering, graph: Graph, node: GraphNode, again: NodeId, hint: string): Site {
  return {
    agent: node.raw.Agent ?? node.id,
    hint,
    origin: `${l.prefix}${node.id}`,
    again,
    ...limitOf(l, graph),
    ...(node.inner === null ? {} : { witness: '', speakers: node.speakers }),
  };
}

/** `MaxRetries` corrections, then the session is stuck. `FailureHandling.Threshold` applies if it is not set. */
function limitOf({ team }: Lowering, { raw }: Graph): Pick<Site, 'limit' | 'fixed'> {
  if (raw.MaxRetries !== undefined) return { limit: raw.MaxRetries + 1, fixed: true };
  return { limit: team.raw.FailureHandling.Threshold ?? RETRIES + 1 };
}

function addNode(l: Lowering, graph: Graph, node: GraphNode, done: NodeId): void {
  const begin = idOf(l, node.id);
  const site = siteOf(l, graph, node, begin, `${l.prefix}${node.id}`);
  const next = node.raw.Terminal
    ? addLast(l, site, node, done)
    : addEdges(l, graph, node, site, (edge) => addEdge(l, graph, node, edge, site));
  addWork(l, node, site, begin, next);
}

/** The turn of the node's agent, or its sub-graph. */
function addWork(l: Lowering, node: GraphNode, site: Site, begin: NodeId, next: NodeId): NodeId {
  const at = l.at(...node.path, 'Id');
  if (node.inner !== null) return addInner(l, node, node.inner, begin, next);
  const words = distinct(node.edges.flatMap(({ raw }) => raw.Keyword ?? []));
  const samples = messagesWith(words);
  const { agent, hint, origin } = site;
  return addTeamTurn(l, { agent, hint, origin, enters: node.id, begin, at, entry: 'route', words, samples, next });
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

/** Chooses among the edges by the message; `take` gives the node that an edge leads to. */
function addEdges(
  l: Lowering,
  graph: Graph,
  node: GraphNode,
  site: Site,
  take: (edge: Edge) => NodeId,
  among: readonly Edge[] = node.edges,
): NodeId {
  const open = among.filter((edge) => isOpen(node, edge));
  const words = distinct(open.flatMap(({ raw }) => raw.Keyword ?? []));
  const cases: Case[] = [];
  for (const edge of open) {
    const { Keyword } = edge.raw;
    const word = words.find((each) => Keyword !== undefined && same(each, Keyword));
    // The other edges of a group are taken with its first.
    const first = open.find(({ raw }) => sameTrigger(raw.Keyword, Keyword));
    if (first !== edge && mergeOf(graph, node, Keyword) !== null) continue;
    cases.push({ when: word === undefined ? 'true' : `${quote(word)} in ${MATCHED}`, to: take(edge) });
    if (word === undefined) break;
  }
  const last = cases.at(-1);
  const automatic = last?.when === 'true' ? last.to : null;
  const ways = open.flatMap(({ raw, checks }): Way[] =>
    raw.Keyword === undefined ? [] : [{ word: raw.Keyword, what: `\`${raw.Keyword}\``, checks }],
  );
  const otherwise = automatic ?? addTermination(l, site, addSilence(l, node, site, choiceOf('keyword', words), ways));
  if (words.length === 0) return otherwise;
  const routed = l.kit.pick(part(site, 'route'), automatic === null ? cases : cases.slice(0, -1), otherwise);
  return l.kit.set(part(site, 'match'), [set(MATCHED, matchedPhrases(words, true))], routed);
}

function addSilence(l: Lowering, node: GraphNode, site: Site, choice: string, ways: readonly Way[]): NodeId {
  const generic: Correction = {
    type: 'no_keyword_generic',
    text: quote(`No keyword of ${node.id} emitted. ${choice}`),
  };
  const silence =
    node.inner === null ? silenceOf(member(l, site.agent), generic, { choice, ways }) : { corrections: [generic] };
  const bad = addBadTurn(l, silentSite(l, site), { what: 'no keyword of this node', ...silence });
  return node.inner === null ? addOpenGates(l, site, ways, bad) : bad;
}

/** Evidence, then a person, then the next node, a parallel group, or an earlier node in a new phase. */
function addEdge(l: Lowering, graph: Graph, node: GraphNode, taken: Edge, site: Site): NodeId {
  const merge = mergeOf(graph, node, taken.raw.Keyword);
  const isGroup = merge !== null && graph.nodes.get(taken.raw.To)?.raw.Parallel === true;
  const edge = isGroup ? joint(taken, groupOf(graph, node, taken.raw.Keyword)) : taken;
  const { raw, back } = edge;
  const onward = isGroup ? addGroup(l, graph, node, edge, idOf(l, merge)) : idOf(l, raw.To);
  const fired = [...clean(raw.To !== node.id), ...(back ? [set(PHASE, `${PHASE} + 1`)] : [])];
  const ended = addTermination(l, site, onward, passedOn(edge));
  const fire = l.kit.set(part(site, `${back ? 'back' : 'fire'}:${raw.To}`), fired, ended);
  return addEdgeGate(l, site, edge, fire);
}

/** The first edge of a parallel group, with the gates of all its edges: one keyword takes them together. */
function joint(first: Edge, group: readonly Edge[]): Edge {
  const checks = distinctChecks(group.flatMap((edge) => edge.checks));
  const RequireHumanApproval = group.some(({ raw }) => raw.RequireHumanApproval);
  const RecoveryAgent = group.find(({ raw }) => raw.RecoveryAgent !== undefined)?.raw.RecoveryAgent;
  return { ...first, checks, raw: { ...first.raw, RequireHumanApproval, RecoveryAgent } };
}

function addEdgeGate(l: Lowering, site: Site, { raw, index, checks }: Edge, pass: NodeId): NodeId {
  const what = raw.Keyword === undefined ? `the edge to ${raw.To}` : `\`${raw.Keyword}\``;
  return addGate(l, {
    site,
    key: `${l.prefix}edge${index}`,
    what,
    checks,
    approval: raw.RequireHumanApproval
      ? { about: raw.To, message: `${site.agent} at ${site.origin} wants to go on to ${raw.To}.` }
      : null,
    recovery: raw.RecoveryAgent ?? null,
    pass,
  });
}

/** The checks that a turn passed on this edge. */
function passedOn({ raw, checks }: Edge): ReadonlySet<string> {
  return new Set([...checks.map(checkKey), ...(raw.RequireHumanApproval ? [APPROVED] : [])]);
}

/**
 * A parallel group: its nodes run at the same time, each with the history as it was and with its own corrections. They join
 * at `next`.
 */
function addGroup(l: Lowering, graph: Graph, node: GraphNode, edge: Edge, next: NodeId): NodeId {
  const origin = `${l.prefix}${node.id}`;
  const hint = `${origin}.group${edge.index}`;
  const place = { hint, origin };
  const members = groupOf(graph, node, edge.raw.Keyword).map(({ raw }) => graph.nodes.get(raw.To) as GraphNode);
  const branch = branchOf(l, place);
  const heads = members.map((each) => ({
    name: each.raw.Agent === undefined ? each.id : `${each.raw.Agent} (node: ${each.id})`,
    to: addBranch(branch, graph, each, `${hint}.${each.id}`),
  }));
  const results = tell('null', null, { outputs: BRANCHES, label: quote('[parallel result from {name}]') });
  const last = set(MESSAGE, `${BRANCHES}["${members.length - 1}"].output`);
  const joined = l.kit.set(part(place, 'joined'), [...clean(), results, last], next);
  return addBranches(l, place, heads, joined);
}

/** A branch ends when it takes a forward edge, or after one turn if it has none. */
function addBranch(l: Lowering, graph: Graph, node: GraphNode, hint: string): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  const begin = l.builder.fresh(hint);
  const site = siteOf(l, graph, node, begin, hint);
  const forward = node.edges.filter(({ back }) => !back);
  const take = (edge: Edge): NodeId => addEdgeGate(l, site, edge, addTermination(l, site, done, passedOn(edge)));
  const next = forward.length === 0 ? addTermination(l, site, done) : addEdges(l, graph, node, site, take, forward);
  addWork(l, node, site, begin, next);
  return l.kit.set({ hint: `${hint}.start`, origin: site.origin }, clean(), begin);
}

const OUTCOME = 'inner';
/** The slots that a sub-graph returns besides its message. */
const RETURNED: ForkNode['gather'] = [
  { slot: OBSERVATIONS, mode: 'concat' },
  { slot: TURNS, mode: 'concat' },
  { slot: SIGNAL, mode: 'last' },
  { slot: TURN, mode: 'last' },
  { slot: REJECTED, mode: 'last' },
];

/**
 * A node that runs a sub-graph: with a copy of the history and its own counters. It returns one message, which counts as the
 * node's message.
 */
function addInner(l: Lowering, node: GraphNode, inner: Inner, begin: NodeId, next: NodeId): NodeId {
  const { builder } = l;
  const origin = `${l.prefix}${node.id}`;
  const place = { hint: origin, origin };
  const done = builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  const below: Lowering = { ...l, prefix: `${origin}/` };
  const phases = { hint: `${origin}/`, origin, next: done };
  const entry =
    inner.is === 'graph'
      ? lowerGraph(below, inner.graph, done)
      : inner.is === 'mapreduce'
        ? lowerMapReduce(below, inner.raw, phases)
        : lowerScatterGather(below, inner.raw, phases);
  const output = `${OUTCOME}["0"].output`;
  const item = { author: quote(node.id), role: quote('assistant'), content: output, turn: TURN };
  const take = l.kit.set(part(place, 'output'), [append(HISTORY, item), set(MESSAGE, output)], next);
  // A session that ends inside the sub-graph returns the message from inside.
  const inside = `cel.bind(o, ${OUTCOME}[0].output, o == null && ${REJECTED} == null ? ${MESSAGE} : o)`;
  const over = (end: NodeId): NodeId => l.kit.set(part(place, 'over'), [set(MESSAGE, inside)], end);
  const spent = { when: `${OUTCOME}[0].code == "BUDGET_EXHAUSTED"`, to: over(exhausted(l)) };
  const joined = l.kit.pick(part(place, 'ended'), [spent], take);
  const fork = l.kit.fork(part(place, 'run'), {
    over: { heads: [{ name: node.id, to: l.kit.set({ hint: `${origin}/start`, origin }, clean(), entry) }] },
    eager: true,
    into: OUTCOME,
    gather: RETURNED,
    next: joined,
    fail: l.kit.branchError(part(place, 'blame'), OUTCOME, over(builder.failedEnd(OUTPUT))),
  });
  // The turns inside charge the session's meter; this one bounds how often the sub-graph runs.
  const runs = l.kit.visits(`runs:${origin}`, l.turnsMax, exhausted(l), `runs of ${origin}`);
  return l.kit.set(
    { id: begin, origin, charges: [runs], at: l.at(...node.path, 'Id') },
    [set(SIGNAL, 'null'), set(TALK, '[]'), ...enter(`size(${TURNS}) + 1`)],
    fork,
  );
}
