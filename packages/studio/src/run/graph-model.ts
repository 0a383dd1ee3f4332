/** What the graph shows: the picture of the document, with the state of the run on it. */
import type { RunEvent, RunView } from '@sluice-internal/wire';
import type { PlacedEdge, PlacedNode, PlacedPicture } from '../data/types.ts';
import type { Part, Stretch } from './graph-visits.ts';

export interface ShownVisit {
  readonly number: number;
  readonly state: string;
  readonly seq: number;
}

export interface ShownNode {
  readonly node: PlacedNode;
  /** The node of the run, or the name in the picture. */
  readonly name: string;
  readonly state: string;
  readonly visits: readonly ShownVisit[];
  readonly count: number;
  readonly retries: number;
  readonly refused: number;
  /** How long the last visit took; null while it goes on, or without one. */
  readonly ms: number | null;
  readonly since: number | null;
}

export interface ShownEdge {
  readonly edge: PlacedEdge;
  readonly key: string;
  readonly isTaken: boolean;
  /** The run is on its way along this edge. */
  readonly isLive: boolean;
  readonly times: number;
}

type Parts = ReadonlyMap<string, Part>;
type Visits = RunView['nodes'][string]['visits'];

const NO_VISITS: Visits = { count: 0, last: null, trouble: [] };
const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'skipped', 'undone']);

export function refusalsOf(events: readonly RunEvent[], at: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events)
    if (event.type === 'tool.refused' && event.seq <= at) counts.set(event.node, (counts.get(event.node) ?? 0) + 1);
  return counts;
}

export function shownNodes(
  picture: PlacedPicture,
  view: RunView,
  parts: Parts,
  refused: ReadonlyMap<string, number>,
): readonly ShownNode[] {
  const shown = picture.nodes.map((node) => shownNode(node, view, parts.get(node.id), refused));
  const states = new Map(shown.map(({ node, state }) => [node.id, state]));
  return shown.map((each) => ({ ...each, state: passedState(each, picture, view, states) ?? each.state }));
}

function shownNode(
  node: PlacedNode,
  view: RunView,
  { id, stretches }: Part = { id: null, stretches: [] },
  refused: ReadonlyMap<string, number>,
): ShownNode {
  const { state, visits } = (id === null ? undefined : view.nodes[id]) ?? { state: undefined, visits: null };
  const begun = stretches.filter(({ bar }) => bar.seq <= view.seq);
  const count = visits?.count ?? begun.length;
  const shown = shownVisits(begun, count - begun.length, state, view, visits ?? NO_VISITS);
  const isBegun = node.kind === 'start' && view.seq > 0;
  return {
    ...{ node, name: id ?? node.label, count, visits: shown },
    state: isBegun ? 'done' : (state ?? stateOf(shown)),
    retries: retriesOf(visits ?? NO_VISITS),
    refused: refused.get(id ?? node.id) ?? 0,
    ...timeOf(begun.at(-1), view),
  };
}

/** Of the last visit. */
function retriesOf({ last, trouble }: Visits): number {
  return last !== null && trouble.at(-1)?.number === last.number ? last.retries : 0;
}

function shownVisits(
  begun: readonly Stretch[],
  first: number,
  state: string | undefined,
  view: RunView,
  visits: Visits,
): readonly ShownVisit[] {
  return begun.map(({ bar }, index) => {
    const number = first + index + 1;
    return { number, seq: bar.seq, state: visitState(number, state, visits) ?? stretchState({ bar, number }, view) };
  });
}

function timeOf(last: Stretch | undefined, view: RunView): Pick<ShownNode, 'ms' | 'since'> {
  if (last === undefined) return { ms: null, since: null };
  const ended = endOf(last.bar.endedAt, view);
  const { startedAt } = last.bar;
  return ended === null ? { ms: null, since: startedAt } : { ms: ended - startedAt, since: null };
}

/** The slider can be before the end of what the timeline knows. */
function endOf(endedAt: number | null, view: RunView): number | null {
  return endedAt !== null && endedAt <= view.at ? endedAt : null;
}

/** Undefined: the view does not keep this visit by itself. */
function visitState(number: number, state: string | undefined, { last, trouble }: Visits): string | undefined {
  const known = number === last?.number ? last : trouble.find((each) => each.number === number);
  if (known === undefined) return undefined;
  return known.endedAt === null && state === 'waiting' ? 'waiting' : known.state;
}

function stretchState({ bar }: Stretch, view: RunView): string {
  if (endOf(bar.endedAt, view) === null) return bar.kind === 'question' ? 'waiting' : 'running';
  return bar.failed ? 'failed' : 'done';
}

/** Of several nodes of the run: the one that goes on, else the last one. */
function stateOf(visits: readonly ShownVisit[]): string {
  const open = visits.find(({ state }) => state === 'waiting' || state === 'running');
  return open?.state ?? visits.at(-1)?.state ?? 'idle';
}

/** The start, the end, joins, and nodes that are only drawn. */
function passedState(
  { node: { id, kind }, state, count }: ShownNode,
  { edges }: PlacedPicture,
  view: RunView,
  states: ReadonlyMap<string, string>,
): string | null {
  const stateAt = (other: string): string => states.get(other) ?? 'idle';
  if (kind === 'end') return view.state === 'completed' ? 'done' : 'idle';
  if (count > 0 || state !== 'idle') return null;
  const into = edges.filter(({ to, back }) => to === id && !back);
  const out = edges.filter(({ from, back }) => from === id && !back);
  if (kind === 'join') return into.length > 0 && into.every(({ from }) => ENDED.has(stateAt(from))) ? 'done' : null;
  const isPassed =
    (kind === 'decision' || kind === 'parallel') &&
    out.some(({ to }) => stateAt(to) !== 'idle') &&
    into.some(({ from }) => stateAt(from) === 'done');
  return view.nodes[id] === undefined && isPassed ? 'done' : null;
}

export function shownEdges(
  { edges }: PlacedPicture,
  view: RunView,
  shown: readonly ShownNode[],
  parts: Parts,
): readonly ShownEdge[] {
  const at = new Map(shown.map((each) => [each.node.id, each]));
  const lastSeq = Math.max(0, ...shown.map(({ visits }) => visits.at(-1)?.seq ?? 0));
  const walked = walkedEdges(edges, view, shown, parts);
  const pairs = new Map<string, number>();
  return edges.map((edge, index): ShownEdge => {
    const [from, to] = [at.get(edge.from), at.get(edge.to)];
    const pair = `${edge.from}>${edge.to}`;
    const place = pairs.get(pair) ?? 0;
    pairs.set(pair, place + 1);
    const told = toldTimes(edge, place, view, edges, parts);
    const times = told ?? (walked.has(edge) ? 1 : 0);
    const isTaken = times > 0 || (told === null && isPassed(edge, from, to, lastSeq));
    const isLive =
      isTaken && to?.state === 'running' && (from?.visits.at(-1)?.seq ?? 0) <= (to.visits.at(-1)?.seq ?? 0);
    return { edge, key: `${pair}#${index}`, isTaken, isLive, times };
  });
}

/** How often the run has said that it took this edge; null if it does not speak of these nodes. */
function toldTimes(
  { from, to }: PlacedEdge,
  place: number,
  view: RunView,
  edges: readonly PlacedEdge[],
  parts: Parts,
): number | null {
  const [a, b] = [parts.get(from)?.id ?? from, parts.get(to)?.id ?? to];
  const told = Object.entries(view.edges)
    .filter(([key]) => key.startsWith(`${a}>${b}#`))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (told.length === 0) return null;
  const alike = edges.filter((each) => each.from === from && each.to === to).length;
  return alike > 1 ? (told[place]?.[1] ?? 0) : told.reduce((sum, [, count]) => sum + count, 0);
}

/** Edges without an event of their own: from the start, into branches and joins, and to the end. */
function isPassed(edge: PlacedEdge, from: ShownNode | undefined, to: ShownNode | undefined, lastSeq: number): boolean {
  if (from === undefined || to === undefined || edge.back || edge.kind === 'error') return false;
  if (from.node.kind === 'start') return to.state !== 'idle';
  if (edge.kind === 'branch') return from.state !== 'idle' && to.count > 0;
  if (to.node.kind === 'join') return ENDED.has(from.state) && from.count > 0;
  if (from.node.kind === 'join') return to.count > 0;
  // The way to the end leaves the node that was entered last.
  return to.node.kind === 'end' && to.state === 'done' && from.visits.at(-1)?.seq === lastSeq;
}

/**
 * In a picture whose nodes stand for calls, the edges between a visit and the nearest one before it from which a way leads, over nodes
 * that are only drawn.
 */
function walkedEdges(
  edges: readonly PlacedEdge[],
  view: RunView,
  shown: readonly ShownNode[],
  parts: Parts,
): ReadonlySet<PlacedEdge> {
  const walked = new Set<PlacedEdge>();
  const isNamed = shown.filter(({ count }) => count > 0).every(({ node }) => parts.get(node.id)?.id === node.id);
  if (isNamed) return walked;
  const isDrawnOnly = new Set(
    shown.filter(({ count, node }) => count === 0 && node.kind !== 'end').map(({ node }) => node.id),
  );
  const visits = shown
    .flatMap(({ node, visits: own }) => own.map(({ seq }) => ({ id: node.id, seq })))
    .toSorted((a, b) => a.seq - b.seq);
  const ends =
    view.state === 'completed'
      ? shown.filter(({ node }) => node.kind === 'end').map(({ node }) => ({ id: node.id, seq: Infinity }))
      : [];
  const start = shown.filter(({ node }) => node.kind === 'start').map(({ node }) => ({ id: node.id, seq: 0 }));
  const all = [...start, ...visits, ...ends];
  for (const [index, { id }] of all.entries()) {
    for (const before of all.slice(Math.max(0, index - 12), index).toReversed()) {
      const way = wayBetween(before.id, id, edges, isDrawnOnly);
      if (way === null) continue;
      for (const edge of way) walked.add(edge);
      break;
    }
  }
  return walked;
}

function wayBetween(
  from: string,
  to: string,
  edges: readonly PlacedEdge[],
  over: ReadonlySet<string>,
): readonly PlacedEdge[] | null {
  const ways = new Map<string, readonly PlacedEdge[]>([[from, []]]);
  for (const [id, way] of ways)
    for (const edge of edges) {
      if (edge.from !== id) continue;
      if (edge.to === to) return [...way, edge];
      if (over.has(edge.to) && !ways.has(edge.to)) ways.set(edge.to, [...way, edge]);
    }
  return null;
}
