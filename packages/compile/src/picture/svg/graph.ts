/**
 * The picture as rows to be laid out. Nodes stand in even rows; every edge passes through the rows between its ends as a
 * chain of waypoints, one of which is as wide as its label, so that labels and nodes never overlap.
 */
import { forwardOrder } from '../../graph/components.ts';
import type { Direction, Picture, PictureEdge, PictureNode } from '../picture.ts';
import { boxOf, extentOf, type Box } from './boxes.ts';
import { spineOf, type Side } from './spine.ts';
import { measure, wrap } from './text.ts';

export const EDGE_SIZE = 11.5;
const LABEL_WIDTH = 190;
const WAYPOINT_WIDTH = 12;
const WAYPOINTS_MAX = 3000;
/** The width of a loop beside its node. */
export const LOOP_REACH = 34;

export interface Item {
  readonly row: number;
  readonly side: Side;
  /** Stands on the spine. */
  readonly onSpine: boolean;
  /** The distances from its middle to its sides, across the direction of the picture. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
  readonly box: Box | null;
}
export interface Chain {
  readonly edge: PictureEdge;
  /** Items from the upper end to the lower one, both included; just the node itself for a loop. */
  readonly items: readonly number[];
  /** True if the arrow points up. */
  readonly up: boolean;
  readonly label: readonly string[];
  /** The checks before the edge is taken; drawn under the label. */
  readonly guards: readonly string[];
  /** The bound of the cycle that this edge closes. */
  readonly bound: string | null;
  /** The item that the label is written on. */
  readonly labelItem: number | null;
  /** The lane beside the picture, for an edge that goes around it; null for the others. */
  readonly aside: number | null;
}
export interface LayoutGraph {
  readonly direction: Direction;
  readonly items: readonly Item[];
  /** Item numbers by row, in the order in which they are drawn. */
  readonly rows: number[][];
  readonly chains: readonly Chain[];
  /** The least room between two rows. */
  readonly rowGap: number;
}

/** How the nodes are drawn. */
export interface Drawing {
  readonly sized: (node: PictureNode) => Box;
  readonly rowGap: number;
}
const FIGURES: Drawing = { sized: boxOf, rowGap: 13 };

export function layoutGraph(
  picture: Picture,
  direction: Direction = 'down',
  { sized, rowGap }: Drawing = FIGURES,
): LayoutGraph {
  const index = new Map(picture.nodes.map(({ id }, position) => [id, position]));
  const edges = picture.edges.filter(({ from, to }) => index.has(from) && index.has(to));
  const ends = edges.map(({ from, to }) => [index.get(from) as number, index.get(to) as number] as const);
  const nodeRows = rowsOf(picture.nodes, ends, edges);
  const bounds = boundsByEdge(picture, edges);
  const { sides, runsDown } = spineOf(picture.nodes, edges, ends);
  const items: Item[] = picture.nodes.map((node, position) => {
    const box = sized(node);
    const loops = edges.filter(({ from, to }) => from === node.id && to === node.id);
    const { across, along } = extentOf(box, direction);
    const rooms = loops.map((edge) => labelRoom(edge, bounds.get(edge) ?? null, direction));
    const beside = Math.max(0, ...rooms.map((room) => LOOP_REACH + room.across));
    return {
      row: 2 * (nodeRows[position] as number),
      side: sides[position] as Side,
      onSpine: sides[position] === 0,
      left: across / 2,
      right: across / 2 + beside,
      height: Math.max(along, ...rooms.map((room) => room.along)),
      box,
    };
  });
  const asides = asidesOf(ends.map(([from, to]) => Math.abs((items[from] as Item).row - (items[to] as Item).row)));
  const chains = edges.map((edge, position): Chain => {
    const [from, to] = ends[position] as readonly [number, number];
    const aside = asides.get(position) ?? null;
    if (aside === null)
      return chainOf(edge, [from, to], bounds.get(edge) ?? null, items, {
        direction,
        side: runsDown[position] === true ? 0 : sideBetween(sides[from] as Side, sides[to] as Side),
      });
    const up = (items[from] as Item).row > (items[to] as Item).row;
    return {
      edge,
      items: up ? [to, from] : [from, to],
      up,
      label: [],
      guards: [],
      bound: null,
      labelItem: null,
      aside,
    };
  });
  const rows: number[][] = [];
  for (const [position, { row }] of items.entries()) (rows[row] ??= []).push(position);
  return { direction, items, rows: Array.from(rows, (row) => row ?? []), chains, rowGap };
}

/** In a large picture, the longest edges go around it, because their waypoints would take too much room. */
function asidesOf(spans: readonly number[]): ReadonlyMap<number, number> {
  const asides = new Map<number, number>();
  let waypoints = 0;
  for (const [position, span] of [...spans.entries()].sort(([, a], [, b]) => a - b)) {
    waypoints += span;
    if (waypoints > WAYPOINTS_MAX) asides.set(position, asides.size);
  }
  return asides;
}

function chainOf(
  edge: PictureEdge,
  [from, to]: readonly [number, number],
  bound: string | null,
  items: Item[],
  { direction, side }: { readonly direction: Direction; readonly side: Side },
): Chain {
  const label = labelLines(edge);
  const guards = guardLines(edge);
  if (from === to) return { edge, items: [from], up: false, label, guards, bound, labelItem: null, aside: null };
  const up = (items[from] as Item).row > (items[to] as Item).row;
  const [upper, lower] = up ? [to, from] : [from, to];
  const chain = [upper];
  // The label stands near the node that decides.
  const labelled = up ? (items[lower] as Item).row - 1 : (items[upper] as Item).row + 1;
  let labelItem: number | null = null;
  for (let row = (items[upper] as Item).row + 1; row < (items[lower] as Item).row; row++) {
    const carries = row === labelled && (label.length + guards.length > 0 || bound !== null);
    if (carries) labelItem = items.length;
    chain.push(items.length);
    const { across, along } = carries ? labelRoom(edge, bound, direction) : { across: WAYPOINT_WIDTH, along: 0 };
    items.push({ row, side, onSpine: side === 0, box: null, left: across / 2, right: across / 2, height: along });
  }
  return { edge, items: [...chain, lower], up, label, guards, bound, labelItem, aside: null };
}

/** An edge that does not run along the spine stands beside it. */
function sideBetween(from: Side, to: Side): Side {
  return to === 0 ? (from === 0 ? 1 : from) : to;
}

function labelLines({ label }: PictureEdge): readonly string[] {
  return label === null || label === '' ? [] : wrap(label, EDGE_SIZE, LABEL_WIDTH, 2);
}

function guardLines({ guards = [] }: PictureEdge): readonly string[] {
  return guards.length === 0 ? [] : wrap(`✓ ${guards.join(', ')}`, EDGE_SIZE, LABEL_WIDTH, 2);
}

function labelRoom(
  edge: PictureEdge,
  bound: string | null,
  direction: Direction,
): { readonly across: number; readonly along: number } {
  const texts = [...labelLines(edge), ...guardLines(edge)];
  const lines = [...texts, ...(bound === null ? [] : [`↺ ${bound}  `])];
  if (lines.length === 0) return { across: 0, along: 0 };
  const width = Math.max(...lines.map((line) => measure(line, EDGE_SIZE))) + 14;
  const height = texts.length * 15 + (bound === null ? 0 : 20) + 6;
  return direction === 'down' ? { across: width, along: height } : { across: height, along: width };
}

/** A bound is written once, at the first edge that closes its cycle. */
function boundsByEdge(picture: Picture, edges: readonly PictureEdge[]): ReadonlyMap<PictureEdge, string> {
  const bounds = new Map<PictureEdge, string>();
  for (const { nodes, bound } of picture.cycles) {
    const closing = edges.find(({ from, to, back }) => back && nodes.includes(from) && nodes.includes(to));
    if (bound !== null && closing !== undefined) bounds.set(closing, bound);
  }
  return bounds;
}

type Ends = readonly (readonly [from: number, to: number])[];

/** The row of each node: as far down as the longest path to it, over edges that do not lead back. */
function rowsOf(nodes: readonly PictureNode[], ends: Ends, edges: readonly PictureEdge[]): readonly number[] {
  const next = nodes.map((): number[] => []);
  for (const [position, [from, to]] of ends.entries()) {
    if (from !== to && edges[position]?.back !== true) (next[from] as number[]).push(to);
  }
  const order = forwardOrder(next.keys(), (node) => next[node] ?? []);
  const rank = new Map(order.map((node, position) => [node, position]));
  const rows = nodes.map(() => 0);
  for (const node of order) {
    for (const to of next[node] as number[]) {
      // An edge that is not marked as leading back but closes a cycle all the same is drawn upwards.
      if ((rank.get(to) as number) > (rank.get(node) as number))
        rows[to] = Math.max(rows[to] as number, (rows[node] as number) + 1);
    }
  }
  const bottom = Math.max(0, ...rows.map((row, node) => (nodes[node]?.kind === 'end' ? 0 : row))) + 1;
  for (const [node, { kind }] of nodes.entries())
    if (kind === 'end' && (rows[node] as number) > 0) rows[node] = Math.max(bottom, rows[node] as number);
  // Two nodes in one row cannot be joined by an edge that runs from row to row.
  return spread(rows, ends);
}

function spread(rows: number[], ends: Ends): readonly number[] {
  for (const [from, to] of ends) {
    if (from === to || rows[from] !== rows[to]) continue;
    const row = rows[to] as number;
    for (const [node, each] of rows.entries()) if (node !== from && (each > row || node === to)) rows[node] = each + 1;
  }
  return rows;
}
