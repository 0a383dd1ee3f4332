/** A picture with the place of every node and edge, for a page that draws it itself. The SVG has the same places. */
import type { Direction, Picture, PictureEdge, PictureNode } from '../picture.ts';
import { asideWidth, curvesOf } from './edges.ts';
import { layoutGraph } from './graph.ts';
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
  readonly edges: readonly (PictureEdge & { readonly path: string; readonly tip: string })[];
}

export function placePicture(picture: Picture, direction: Direction = 'down'): PlacedPicture {
  const graph = layoutGraph(picture, direction);
  orderRows(graph);
  const placed = place(graph);
  const nodes = graph.items.flatMap(({ box }, item): readonly PlacedNode[] => {
    if (box === null) return [];
    const [along, across] = [placed.y[item] as number, placed.x[item] as number];
    const [x, y] = direction === 'down' ? [across, along] : [along, across];
    const { node, width: w, height: h } = box;
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
  const edges = curvesOf(graph, placed).map(({ edge, path, tip }) => ({ ...edge, path, tip }));
  return { ...picture, width: Math.ceil(width), height: Math.ceil(height), nodes, edges };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
