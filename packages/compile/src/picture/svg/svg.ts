/**
 * The picture as a stand-alone SVG: rows from top to bottom or from left to right, no scripts, no fonts to load, light or dark
 * as the reader has it. Pure: the same picture gives the same bytes.
 */
import type { Direction, Picture } from '../picture.ts';
import { DETAIL_SIZE, LABEL_SIZE, type PlacedBox } from './boxes.ts';
import { asideWidth, drawEdges } from './edges.ts';
import { layoutGraph } from './graph.ts';
import { orderRows } from './order.ts';
import { place } from './place.ts';
import { n, outlineOf } from './shapes.ts';
import { styleSheet } from './style.ts';
import { escape, measure, shorten } from './text.ts';

const MARGIN = 28;
const HEADER = 52;
/** Around the nodes of a group. */
const PADDING = 12;
/** Room for the name of the group above its nodes. */
const NAME_HEIGHT = 16;

export function renderSvg(picture: Picture, direction: Direction = 'down'): string {
  const graph = layoutGraph(picture, direction);
  orderRows(graph);
  const placed = place(graph);
  const title = shorten(picture.title, 17, 520);
  const subtitle = shorten(picture.description ?? picture.notation, 12, 520);
  const across = placed.width + asideWidth(graph);
  const [wide, high] = direction === 'down' ? [across, placed.height] : [placed.height, across];
  const width = Math.ceil(Math.max(wide, measure(title, 17), measure(subtitle, 12)) + 2 * MARGIN);
  const { lines, labels } = drawEdges(graph, placed);
  const centre = (item: number): readonly [number, number] => {
    const [x, y] = [placed.x[item] as number, placed.y[item] as number];
    return direction === 'down' ? [x, y] : [y, x];
  };
  const nodes = graph.items.flatMap(({ box }, item) => (box === null ? [] : [{ box, centre: centre(item) }]));
  const left = MARGIN + (width - 2 * MARGIN - wide) / 2;
  const frames = framesOf(nodes);
  // A frame can begin above the highest node.
  const above = Math.max(0, ...frames.map(({ top }) => -top));
  const height = Math.ceil(high + above + HEADER + 2 * MARGIN);
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escape(picture.title)}</title>${picture.description === null ? '' : `\n<desc>${escape(picture.description)}</desc>`}
<style>${styleSheet()}</style>
<rect class="paper" width="${width}" height="${height}"/>
<text class="title" x="${MARGIN}" y="38">${escape(title)}</text>
<text class="subtitle" x="${MARGIN}" y="57">${escape(subtitle)}</text>
<g transform="translate(${n(left)} ${n(HEADER + MARGIN + above)})">
${[...frames.map(drawFrame), lines, ...nodes.map(nodeOf), labels].filter((part) => part !== '').join('\n')}
</g>
</svg>
`;
}

function nodeOf({ box, centre: [x, y] }: PlacedBox): string {
  const { node, label, detail, tools } = box;
  const hover = node.description ?? (label.length === 0 ? node.label : null);
  const height = label.length * 18 + (detail.length + tools.length) * 15;
  const shift = node.kind === 'approval' ? 12 : 0;
  let line = -height / 2;
  const texts: string[] = [];
  for (const each of label)
    texts.push(`<text class="name" x="${shift}" y="${n((line += 18) - 18 + LABEL_SIZE)}">${escape(each)}</text>`);
  const small = [...detail.map((text) => ['detail', text] as const), ...tools.map((text) => ['tools', text] as const)];
  for (const [kind, each] of small)
    texts.push(`<text class="${kind}" x="${shift}" y="${n((line += 15) - 15 + DETAIL_SIZE)}">${escape(each)}</text>`);
  return `<g class="node ${node.kind}" transform="translate(${n(x)} ${n(y)})">${hover === null ? '' : `<title>${escape(hover)}</title>`}${outlineOf(box)}${texts.join('')}</g>`;
}

interface Frame {
  readonly name: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Frames around the nodes of a sub-flow or a phase. A frame that would hold other nodes is left out. */
function framesOf(nodes: readonly PlacedBox[]): readonly Frame[] {
  const groups = Map.groupBy(nodes, ({ box }) => box.node.group ?? '');
  groups.delete('');
  return [...groups].flatMap(([name, members]) => {
    const sides = members.map(sidesOf);
    const left = Math.min(...sides.map((side) => side.left)) - PADDING;
    const top = Math.min(...sides.map((side) => side.top)) - PADDING - NAME_HEIGHT;
    const right = Math.max(...sides.map((side) => side.right)) + PADDING;
    const bottom = Math.max(...sides.map((side) => side.bottom)) + PADDING;
    const isForeign = (node: PlacedBox): boolean => {
      const side = sidesOf(node);
      return (
        !members.includes(node) && side.left < right && side.right > left && side.top < bottom && side.bottom > top
      );
    };
    return nodes.some(isForeign) ? [] : [{ name, left, top, right, bottom }];
  });
}

function drawFrame({ name, left, top, right, bottom }: Frame): string {
  return `<g class="group"><rect x="${n(left)}" y="${n(top)}" width="${n(right - left)}" height="${n(bottom - top)}" rx="8"/><text class="group" x="${n(left + 8)}" y="${n(top + 14)}">${escape(name)}</text></g>`;
}

function sidesOf({ box: { width, height }, centre: [x, y] }: PlacedBox) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}
