/**
 * The picture as a stand-alone SVG: rows from top to bottom, no scripts, no fonts to load, light or dark as the reader has it.
 * Pure: the same picture gives the same bytes.
 */
import type { Picture } from '../picture.ts';
import { LABEL_SIZE, DETAIL_SIZE, type Box } from './boxes.ts';
import { asideWidth, drawEdges } from './edges.ts';
import { layoutGraph } from './graph.ts';
import { orderRows } from './order.ts';
import { place } from './place.ts';
import { n, outlineOf } from './shapes.ts';
import { styleSheet } from './style.ts';
import { escape, measure, shorten } from './text.ts';

const MARGIN = 28;
const HEADER = 52;

export function renderSvg(picture: Picture): string {
  const graph = layoutGraph(picture);
  orderRows(graph);
  const placed = place(graph);
  const title = shorten(picture.title, 17, 520);
  const subtitle = shorten(picture.description ?? picture.notation, 12, 520);
  const width = Math.ceil(
    Math.max(placed.width + asideWidth(graph), measure(title, 17), measure(subtitle, 12)) + 2 * MARGIN,
  );
  const height = Math.ceil(placed.height + HEADER + 2 * MARGIN);
  const { lines, labels } = drawEdges(graph, placed);
  const nodes = graph.items.flatMap(({ box }, item) =>
    box === null ? [] : [nodeOf(box, placed.x[item] as number, placed.y[item] as number)],
  );
  const left = MARGIN + (width - 2 * MARGIN - placed.width - asideWidth(graph)) / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escape(picture.title)}</title>${picture.description === null ? '' : `\n<desc>${escape(picture.description)}</desc>`}
<style>${styleSheet()}</style>
<defs>${['route', 'branch', 'error', 'over'].map(arrow).join('')}</defs>
<rect class="paper" width="${width}" height="${height}"/>
<text class="title" x="${MARGIN}" y="38">${escape(title)}</text>
<text class="subtitle" x="${MARGIN}" y="57">${escape(subtitle)}</text>
<g transform="translate(${n(left)} ${HEADER + MARGIN})">
${lines}
${nodes.join('\n')}
${labels}
</g>
</svg>
`;
}

function nodeOf(box: Box, x: number, y: number): string {
  const { node, label, detail } = box;
  const hover = node.description ?? (label.length === 0 ? node.label : null);
  const height = label.length * 18 + detail.length * 15;
  const shift = node.kind === 'approval' ? 12 : 0;
  let line = -height / 2;
  const texts: string[] = [];
  for (const each of label)
    texts.push(`<text class="name" x="${shift}" y="${n((line += 18) - 18 + LABEL_SIZE)}">${escape(each)}</text>`);
  for (const each of detail)
    texts.push(`<text class="detail" x="${shift}" y="${n((line += 15) - 15 + DETAIL_SIZE)}">${escape(each)}</text>`);
  return `<g class="node ${node.kind}" transform="translate(${n(x)} ${n(y)})">${hover === null ? '' : `<title>${escape(hover)}</title>`}${outlineOf(box)}${texts.join('')}</g>`;
}

/** Drawn ahead of the line's end, so that the line does not show through its point; turned round where an edge runs up. */
function arrow(name: string): string {
  return `<marker id="arrow-${name}" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path class="tip-${name}" d="M0 .8 8 4 0 7.2z"/></marker>`;
}
