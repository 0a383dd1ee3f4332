/** Frames around the nodes of a sub-flow or a phase. */
import type { PlacedNode } from '../data/types.ts';

export interface Frame {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const PADDING = 14;
const NAME = 18;

/** A frame that would hold other nodes is left out. */
export function framesOf(nodes: readonly PlacedNode[]): readonly Frame[] {
  const groups = Map.groupBy(
    nodes.filter(({ frame }) => frame !== null),
    ({ frame }) => frame ?? '',
  );
  return [...groups].flatMap(([name, members]): readonly Frame[] => {
    const x = Math.min(...members.map((each) => each.x)) - PADDING;
    const y = Math.min(...members.map((each) => each.y)) - PADDING - NAME;
    const right = Math.max(...members.map((each) => each.x + each.w)) + PADDING;
    const bottom = Math.max(...members.map((each) => each.y + each.h)) + PADDING;
    const isForeign = nodes.some(
      (each) =>
        !members.includes(each) && each.x < right && each.x + each.w > x && each.y < bottom && each.y + each.h > y,
    );
    return isForeign ? [] : [{ name, x, y, w: right - x, h: bottom - y }];
  });
}
