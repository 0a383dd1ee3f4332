/** Edges as curves that leave and arrive upright and pass every row in its own lane; labels and bounds on top of them. */
import type { Box } from './boxes.ts';
import { EDGE_SIZE, LOOP_REACH, type Chain, type Item, type LayoutGraph } from './graph.ts';
import { EMPTY_ROW, type Placed } from './place.ts';
import { inset, n, portSpan } from './shapes.ts';
import { escape, measure } from './text.ts';

const ARROW = 7;
/** Lanes beside the picture; further edges share them. */
const ASIDES_MAX = 24;
const ASIDE_GAP = 7;

/** How much wider the picture gets by the edges that are led around it. */
export function asideWidth({ chains }: LayoutGraph): number {
  const count = chains.filter(({ aside }) => aside !== null).length;
  return count === 0 ? 0 : ASIDE_GAP * (Math.min(count, ASIDES_MAX) + 2);
}

export function drawEdges(graph: LayoutGraph, placed: Placed): { readonly lines: string; readonly labels: string } {
  const ports = portsOf(graph, placed);
  const lines: string[] = [];
  const labels: string[] = [];
  for (const chain of graph.chains) {
    const tip =
      chain.edge.kind === 'error'
        ? 'error'
        : chain.edge.kind === 'over'
          ? 'over'
          : chain.edge.kind === 'route'
            ? 'route'
            : 'branch';
    const start = chain.up ? ' marker-start' : ' marker-end';
    const d = chain.items.length === 1 ? loop(graph, placed, chain) : curve(graph, placed, chain, ports);
    lines.push(
      `<path class="edge ${chain.edge.kind}${chain.edge.back ? ' back' : ''}" d="${d}"${start}="url(#arrow-${tip})"/>`,
    );
    labels.push(labelOf(graph, placed, chain));
  }
  return { lines: lines.join('\n'), labels: labels.filter((label) => label !== '').join('\n') };
}

/** Where each chain touches its node, as a distance from the middle: spread in the order in which the edges fan out. */
function portsOf(
  { items, chains }: LayoutGraph,
  { x }: Placed,
): ReadonlyMap<Chain, readonly [upper: number, lower: number]> {
  const sides = new Map<string, { readonly chain: Chain; readonly toward: number }[]>();
  const put = (key: string, chain: Chain, toward: number): void =>
    void (sides.get(key) ?? sides.set(key, []).get(key))?.push({ chain, toward });
  for (const chain of chains) {
    if (chain.items.length === 1) continue;
    put(`${chain.items[0]} below`, chain, x[chain.items[1] as number] as number);
    put(`${chain.items.at(-1)} above`, chain, x[chain.items.at(-2) as number] as number);
  }
  const ports = new Map<Chain, [number, number]>(chains.map((chain) => [chain, [0, 0]]));
  for (const [key, touching] of sides) {
    const [item, side] = key.split(' ') as [string, 'above' | 'below'];
    const span = portSpan((items[Number(item)] as Item).box as Box);
    touching.sort((a, b) => a.toward - b.toward);
    for (const [position, { chain }] of touching.entries()) {
      const share = touching.length === 1 ? 0 : position / (touching.length - 1) - 0.5;
      (ports.get(chain) as [number, number])[side === 'below' ? 0 : 1] =
        share * Math.min(span, (touching.length - 1) * 46);
    }
  }
  return ports;
}

function curve(
  { items }: LayoutGraph,
  { x, y, rowTop, rowBottom, width }: Placed,
  chain: Chain,
  ports: ReadonlyMap<Chain, readonly [number, number]>,
): string {
  const [upperPort, lowerPort] = ports.get(chain) ?? [0, 0];
  const [first, last] = [chain.items[0] as number, chain.items.at(-1) as number];
  const [upper, lower] = [(items[first] as Item).box as Box, (items[last] as Item).box as Box];
  let px = (x[first] as number) + upperPort;
  let py = (y[first] as number) + upper.height / 2 - inset(upper, upperPort) + (chain.up ? ARROW : 0);
  let d = `M${n(px)} ${n(py)}`;
  const to = (nx: number, ny: number): void => {
    const middle = (py + ny) / 2;
    d +=
      Math.abs(nx - px) < 1.5 ? `L${n(nx)} ${n(ny)}` : `C${n(px)} ${n(middle)} ${n(nx)} ${n(middle)} ${n(nx)} ${n(ny)}`;
    [px, py] = [nx, ny];
  };
  // Between neighbouring rows only labels can be in the way. Without labels one sweep is enough.
  const between = (items[first] as Item).row + 1;
  if (chain.aside !== null) {
    const lane = width + ASIDE_GAP * ((chain.aside % ASIDES_MAX) + 2);
    to(lane, py + 24);
    to(lane, (y[last] as number) - lower.height / 2 - 30);
  }
  const short = chain.items.length === 3 && (rowBottom[between] as number) - (rowTop[between] as number) <= EMPTY_ROW;
  for (const item of short ? [] : chain.items.slice(1, -1)) {
    const { row } = items[item] as Item;
    to(x[item] as number, rowTop[row] as number);
    to(x[item] as number, rowBottom[row] as number);
  }
  to(
    (x[last] as number) + lowerPort,
    (y[last] as number) - lower.height / 2 + inset(lower, lowerPort) - (chain.up ? 0 : ARROW),
  );
  return d;
}

function loop({ items }: LayoutGraph, { x, y }: Placed, chain: Chain): string {
  const item = chain.items[0] as number;
  const { width, height } = (items[item] as Item).box as Box;
  const [side, middle] = [(x[item] as number) + width / 2, y[item] as number];
  const [out, lift] = [side + LOOP_REACH, height / 4 + 4];
  return `M${n(side)} ${n(middle - height / 4)}C${n(out)} ${n(middle - lift)} ${n(out)} ${n(middle + lift)} ${n(side + ARROW)} ${n(middle + height / 4)}`;
}

function labelOf({ items }: LayoutGraph, { x, y }: Placed, chain: Chain): string {
  const { label, bound, labelItem, edge } = chain;
  if (label.length === 0 && bound === null) return '';
  const own = chain.items[0] as number;
  const width =
    Math.max(0, ...label.map((line) => measure(line, EDGE_SIZE)), bound === null ? 0 : badgeWidth(bound)) + 8;
  const cx =
    labelItem === null
      ? (x[own] as number) + ((items[own] as Item).box as Box).width / 2 + LOOP_REACH - 4 + width / 2
      : (x[labelItem] as number);
  const cy = y[labelItem ?? own] as number;
  const top = cy - (label.length * 15 + (bound === null ? 0 : 20)) / 2;
  const parts = label.map(
    (line, index) =>
      `<text class="label ${edge.kind}" x="${n(cx)}" y="${n(top + index * 15 + 11.5)}">${escape(line)}</text>`,
  );
  if (label.length > 0)
    parts.unshift(
      `<rect class="paper" x="${n(cx - width / 2)}" y="${n(top)}" width="${n(width)}" height="${n(label.length * 15)}" rx="3"/>`,
    );
  if (bound !== null) parts.push(badge(bound, cx, top + label.length * 15 + 10));
  return `<g>${parts.join('')}</g>`;
}

function badgeWidth(bound: string): number {
  return measure(`↺ ${bound}`, EDGE_SIZE) + 12;
}

function badge(bound: string, cx: number, cy: number): string {
  const width = badgeWidth(bound);
  return `<rect class="bound" x="${n(cx - width / 2)}" y="${n(cy - 9)}" width="${n(width)}" height="18" rx="9"/><text class="label bound" x="${n(cx)}" y="${n(cy + 4)}">${escape(`↺ ${bound}`)}</text>`;
}
