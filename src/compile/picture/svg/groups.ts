/** Frames around the nodes of a sub-flow or a phase. A frame that would hold nodes of others is left out. */
import type { PlacedBox } from './boxes.ts';
import { n } from './shapes.ts';
import { escape } from './text.ts';

const PADDING = 12;
/** Room for the name of the group above its nodes. */
const NAME_HEIGHT = 16;

export function drawGroups(nodes: readonly PlacedBox[]): readonly string[] {
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
    if (nodes.some(isForeign)) return [];
    return [
      `<g class="group"><rect x="${n(left)}" y="${n(top)}" width="${n(right - left)}" height="${n(bottom - top)}" rx="8"/><text class="group" x="${n(left + 8)}" y="${n(top + 14)}">${escape(name)}</text></g>`,
    ];
  });
}

function sidesOf({ box: { width, height }, centre: [x, y] }: PlacedBox) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}
