/**
 * Edges as curves that leave and arrive upright and pass every row in its own lane; labels and bounds on top of them. Positions
 * are computed from top to bottom; a picture that runs to the right has the two coordinates exchanged.
 */
import type { Direction, PictureEdge } from '../picture.ts';
import { extentOf, type Box } from './boxes.ts';
import { EDGE_SIZE, LOOP_REACH, type Chain, type Item, type LayoutGraph } from './graph.ts';
import { EMPTY_ROW, type Placed } from './place.ts';
import { inset, n, portSpan } from './shapes.ts';
import { escape, measure } from './text.ts';

const ARROW = 7;
const TIP = 3.4;
/** Lanes beside the picture; further edges share them. */
const ASIDES_MAX = 24;
const ASIDE_GAP = 7;
/** Edges that touch one side of a node are this far apart, if there is room. */
const PORT_GAP = 46;

/** The extra width of the picture for edges that are led around it. */
export function asideWidth({ chains }: LayoutGraph): number {
  const count = chains.filter(({ aside }) => aside !== null).length;
  return count === 0 ? 0 : ASIDE_GAP * (Math.min(count, ASIDES_MAX) + 2);
}

export function drawEdges(graph: LayoutGraph, placed: Placed): { readonly lines: string; readonly labels: string } {
  const lines = curvesOf(graph, placed).flatMap(({ edge: { kind, back }, path, tip }) => [
    `<path class="edge ${kind}${back ? ' back' : ''}" d="${path}"/>`,
    `<path class="tip ${kind}" d="${tip}"/>`,
  ]);
  const labels = graph.chains.map((chain) => labelOf(graph, placed, chain)).filter((label) => label !== '');
  return { lines: lines.join('\n'), labels: labels.join('\n') };
}

/** An edge as path data of SVG: its line, and its arrow head. */
export interface Curve {
  readonly edge: PictureEdge;
  readonly path: string;
  readonly tip: string;
}

/** In the order of the edges of the picture. */
export function curvesOf(graph: LayoutGraph, placed: Placed): readonly Curve[] {
  const ports = portsOf(graph, placed);
  return graph.chains.map((chain) => {
    const { d, tip } = chain.items.length === 1 ? loop(graph, placed, chain) : curve(graph, placed, chain, ports);
    return { edge: chain.edge, path: d, tip: tipOf(tip, graph.direction) };
  });
}

interface Drawn {
  readonly d: string;
  readonly tip: Tip;
}

/** The base of an arrow head, and the way it points. */
interface Tip {
  readonly x: number;
  readonly y: number;
  readonly dx: number;
  readonly dy: number;
}

/** A triangle instead of a marker: some viewers do not turn markers. */
function tipOf({ x, y, dx, dy }: Tip, direction: Direction): string {
  const at = (px: number, py: number): string => out(direction, px, py);
  return `M${at(x - dy * TIP, y + dx * TIP)}L${at(x + dx * ARROW, y + dy * ARROW)}L${at(x + dy * TIP, y - dx * TIP)}Z`;
}

function out(direction: Direction, x: number, y: number): string {
  return direction === 'down' ? `${n(x)} ${n(y)}` : `${n(y)} ${n(x)}`;
}

type Ports = ReadonlyMap<Chain, [upper: number, lower: number]>;

/** The place at which each chain touches its node, as a distance from the middle, in the order of the edges. */
function portsOf({ items, chains, direction }: LayoutGraph, { x }: Placed): Ports {
  const sides = new Map<string, { readonly chain: Chain; readonly toward: number }[]>();
  const put = (key: string, chain: Chain, toward: number): void =>
    void (sides.get(key) ?? sides.set(key, []).get(key))?.push({ chain, toward });
  for (const chain of chains) {
    if (chain.items.length === 1) continue;
    put(`${chain.items[0]} below`, chain, x[chain.items[1] as number] as number);
    put(`${chain.items.at(-1)} above`, chain, x[chain.items.at(-2) as number] as number);
  }
  const ports = new Map<Chain, [number, number]>(chains.map((chain) => [chain, [0, 0]]));
  const spanOf = (item: number): number => portSpan((items[item] as Item).box as Box, direction);
  for (const [key, touching] of sides) {
    const [item, side] = key.split(' ') as [string, 'above' | 'below'];
    touching.sort((a, b) => a.toward - b.toward);
    for (const [position, { chain }] of touching.entries()) {
      const share = touching.length === 1 ? 0 : position / (touching.length - 1) - 0.5;
      (ports.get(chain) as [number, number])[side === 'below' ? 0 : 1] =
        share * Math.min(spanOf(Number(item)), (touching.length - 1) * PORT_GAP);
    }
  }
  straighten(chains, ports, x, (item, side) => (sides.get(`${item} ${side}`)?.length === 1 ? spanOf(item) : 0));
  return ports;
}

/** Moves the end of an edge that has a side of its node to itself under the end before it, so that the edge runs straight. */
function straighten(
  chains: readonly Chain[],
  ports: Ports,
  x: readonly number[],
  roomOf: (item: number, side: 'above' | 'below') => number,
): void {
  for (const chain of chains) {
    const port = ports.get(chain);
    if (port === undefined || chain.items.length === 1 || chain.aside !== null) continue;
    const [first, last] = [chain.items[0] as number, chain.items.at(-1) as number];
    const [second, before] = [chain.items[1] as number, chain.items.at(-2) as number];
    const isDirect = chain.items.length <= 3 && chain.labelItem === null;
    const lower = isDirect ? (x[first] as number) + port[0] : (x[before] as number);
    port[1] = moved(port[1], lower - (x[last] as number), roomOf(last, 'above'));
    const upper = isDirect ? (x[last] as number) + port[1] : (x[second] as number);
    port[0] = moved(port[0], upper - (x[first] as number), roomOf(first, 'below'));
  }
}

function moved(port: number, wanted: number, room: number): number {
  return Math.abs(wanted) <= room / 2 ? wanted : port;
}

function curve(graph: LayoutGraph, placed: Placed, chain: Chain, ports: Ports): Drawn {
  const { items, direction } = graph;
  const { x, y, rowTop, rowBottom, width } = placed;
  const [upperPort, lowerPort] = ports.get(chain) ?? [0, 0];
  const [first, last] = [chain.items[0] as number, chain.items.at(-1) as number];
  const [upper, lower] = [(items[first] as Item).box as Box, (items[last] as Item).box as Box];
  const half = (box: Box): number => extentOf(box, direction).along / 2;
  let px = (x[first] as number) + upperPort;
  let py = (y[first] as number) + half(upper) - inset(upper, upperPort, direction) + (chain.up ? ARROW : 0);
  const begin = { x: px, y: py };
  const end = {
    x: (x[last] as number) + lowerPort,
    y: (y[last] as number) - half(lower) + inset(lower, lowerPort, direction) - (chain.up ? 0 : ARROW),
  };
  const at = (nx: number, ny: number): string => out(direction, nx, ny);
  let d = `M${at(px, py)}`;
  const to = (nx: number, ny: number): void => {
    const middle = (py + ny) / 2;
    d += Math.abs(nx - px) < 1.5 ? `L${at(nx, ny)}` : `C${at(px, middle)} ${at(nx, middle)} ${at(nx, ny)}`;
    [px, py] = [nx, ny];
  };
  if (chain.aside !== null) {
    const lane = width + ASIDE_GAP * ((chain.aside % ASIDES_MAX) + 2);
    to(lane, py + 24);
    to(lane, (y[last] as number) - half(lower) - 30);
  }
  // Between neighbouring rows only labels can be in the way. Without labels one sweep is enough.
  const between = (items[first] as Item).row + 1;
  const isEmpty = (rowBottom[between] as number) - (rowTop[between] as number) <= EMPTY_ROW;
  const isStraight = Math.abs(begin.x - end.x) < 1.5 && chain.labelItem === null;
  for (const item of chain.items.length === 3 && (isEmpty || isStraight) ? [] : chain.items.slice(1, -1)) {
    const { row } = items[item] as Item;
    to(x[item] as number, rowTop[row] as number);
    to(x[item] as number, rowBottom[row] as number);
  }
  to(end.x, end.y);
  return { d, tip: chain.up ? { ...begin, dx: 0, dy: -1 } : { ...end, dx: 0, dy: 1 } };
}

function loop({ items, direction }: LayoutGraph, { x, y }: Placed, chain: Chain): Drawn {
  const item = chain.items[0] as number;
  const { across, along } = extentOf((items[item] as Item).box as Box, direction);
  const [side, middle] = [(x[item] as number) + across / 2, y[item] as number];
  const [reach, lift] = [side + LOOP_REACH, along / 4 + 4];
  const at = (px: number, py: number): string => out(direction, px, py);
  const d = `M${at(side, middle - along / 4)}C${at(reach, middle - lift)} ${at(reach, middle + lift)} ${at(side + ARROW, middle + along / 4)}`;
  return { d, tip: { x: side + ARROW, y: middle + along / 4, dx: -1, dy: 0 } };
}

/** What is written at an edge: its middle, its condition, its checks, and the bound of its cycle. */
export interface EdgeLabel {
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
  readonly guards: readonly string[];
  readonly bound: string | null;
}

/** In the order of the edges; null for an edge without a label. */
export function labelsOf(graph: LayoutGraph, placed: Placed): readonly (EdgeLabel | null)[] {
  return graph.chains.map((chain) => {
    const { label: lines, guards, bound } = chain;
    if (lines.length + guards.length === 0 && bound === null) return null;
    const [x, y] = labelCentre(graph, placed, chain);
    return { x: Math.round(x * 10) / 10, y: Math.round(y * 10) / 10, lines, guards, bound };
  });
}

function labelSize({ label, guards, bound }: Chain): readonly [width: number, height: number] {
  const widest = [...label, ...guards].map((text) => measure(text, EDGE_SIZE));
  const width = Math.max(0, ...widest, bound === null ? 0 : badgeWidth(bound)) + 8;
  return [width, (label.length + guards.length) * 15 + (bound === null ? 0 : 20)];
}

function labelCentre({ items, direction }: LayoutGraph, { x, y }: Placed, chain: Chain): readonly [number, number] {
  const { labelItem } = chain;
  const own = chain.items[0] as number;
  const [width, height] = labelSize(chain);
  const beside = direction === 'down' ? width : height;
  const across =
    labelItem === null
      ? (x[own] as number) +
        extentOf((items[own] as Item).box as Box, direction).across / 2 +
        LOOP_REACH -
        4 +
        beside / 2
      : (x[labelItem] as number);
  const along = y[labelItem ?? own] as number;
  return direction === 'down' ? [across, along] : [along, across];
}

function labelOf(graph: LayoutGraph, placed: Placed, chain: Chain): string {
  const { label, guards, bound, edge } = chain;
  const lines = [
    ...label.map((text) => ({ text, kind: edge.kind })),
    ...guards.map((text) => ({ text, kind: 'guard' })),
  ];
  if (lines.length === 0 && bound === null) return '';
  const [width, height] = labelSize(chain);
  const [cx, cy] = labelCentre(graph, placed, chain);
  const top = cy - height / 2;
  const parts = lines.map(
    ({ text, kind }, index) =>
      `<text class="label ${kind}" x="${n(cx)}" y="${n(top + index * 15 + 11.5)}">${escape(text)}</text>`,
  );
  if (lines.length > 0)
    parts.unshift(
      `<rect class="paper" x="${n(cx - width / 2)}" y="${n(top)}" width="${n(width)}" height="${n(lines.length * 15)}" rx="3"/>`,
    );
  if (bound !== null) parts.push(badge(bound, cx, top + lines.length * 15 + 10));
  return `<g>${parts.join('')}</g>`;
}

function badgeWidth(bound: string): number {
  return measure(`↺ ${bound}`, EDGE_SIZE) + 18;
}

function badge(bound: string, cx: number, cy: number): string {
  const width = badgeWidth(bound);
  return `<rect class="bound" x="${n(cx - width / 2)}" y="${n(cy - 9)}" width="${n(width)}" height="18" rx="9"/><text class="label bound" x="${n(cx)}" y="${n(cy + 4)}">${escape(`↺ ${bound}`)}</text>`;
}
