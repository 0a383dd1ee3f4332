/** A picture with the place of every node and edge, for a page that draws it itself. The SVG has the same places. */
import type { Direction, Picture, PictureEdge, PictureNode } from '../picture.ts';
import { cardOf } from './boxes.ts';
import { asideWidth, curvesOf, labelsOf, type EdgeLabel } from './edges.ts';
import { layoutGraph, type Drawing } from './graph.ts';
import { orderRows } from './order.ts';
import { place } from './place.ts';

export interface PlacedNode extends PictureNode {
  /** The left and upper side. */
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  /** The sub-flow or phase around it. */
  readonly frame: string | null;
}
export interface PlacedPicture extends Omit<Picture, 'nodes' | 'edges'> {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  /** `path` and `tip` are path data of SVG: the line, and its arrow head. */
  readonly edges: readonly (Omit<PictureEdge, 'label'> & {
    readonly path: string;
    readonly tip: string;
    readonly label: EdgeLabel | null;
  })[];
}

const CARDS: Drawing = { sized: cardOf, rowGap: 7 };

export function placePicture(picture: Picture, direction: Direction = 'down'): PlacedPicture {
  const graph = layoutGraph({ ...picture, edges: picture.edges.map(withShortLabel) }, direction, CARDS);
  orderRows(graph);
  const placed = place(graph);
  const nodes = graph.items.flatMap(({ box }, item): readonly PlacedNode[] => {
    if (box === null) return [];
    const [along, across] = [placed.y[item] as number, placed.x[item] as number];
    const [x, y] = direction === 'down' ? [across, along] : [along, across];
    const { width: w, height: h } = box;
    const node = picture.nodes[item] as PictureNode;
    return [
      {
        ...node,
        x: rounded(x - w / 2),
        y: rounded(y - h / 2),
        w: rounded(w),
        h: rounded(h),
        frame: node.group ?? null,
      },
    ];
  });
  const wide = placed.width + asideWidth(graph);
  const [width, height] = direction === 'down' ? [wide, placed.height] : [placed.height, wide];
  const labels = labelsOf(graph, placed);
  const edges = curvesOf(graph, placed).map(({ edge, path, tip }, at) => {
    const label = labels[at] ?? null;
    return { ...edge, path, tip, label };
  });
  return { ...picture, width: Math.ceil(width), height: Math.ceil(height), nodes, edges };
}

/** `refund` for `triage.output.category == 'refund'`: the node before the edge says what is compared. */
function withShortLabel(edge: PictureEdge): PictureEdge {
  const { label } = edge;
  if (label === null) return edge;
  if (label === 'default') return { ...edge, label: 'otherwise' };
  const parts = label.split('||').map((part) => /^\s*\(?([\w.]+) == '([^']*)'\)?\s*$/.exec(part));
  const [first] = parts;
  const isOneValue = parts.every((part) => part !== null && part[1] === first?.[1]);
  return isOneValue ? { ...edge, label: parts.map((part) => part?.[2] ?? '').join(' or ') } : edge;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
