/** The outline of each kind of node, and where on it an edge may touch. */
import type { Direction, ShapeKind } from '../picture.ts';
import { extentOf, type Box } from './boxes.ts';

/** The body of a node around its centre (0, 0). */
export function outlineOf({ node: { kind }, width, height }: Box): string {
  const [w, h] = [width / 2, height / 2];
  const rect = (radius: number, extra = ''): string =>
    `<rect class="body" x="${n(-w)}" y="${n(-h)}" width="${n(width)}" height="${n(height)}" rx="${n(radius)}"/>${extra}`;
  switch (kind) {
    case 'start':
      return `<circle class="body" r="${n(w)}"/>`;
    case 'end':
      return `<circle class="body" r="${n(w)}"/><circle class="core" r="${n(w - 5)}"/>`;
    case 'agent':
      return rect(10);
    case 'tool':
      return rect(3, `<path class="line" d="M${n(-w + 9)} ${n(-h)}V${n(h)}M${n(w - 9)} ${n(-h)}V${n(h)}"/>`);
    case 'decision':
      return `<path class="body" d="M0 ${n(-h)}L${n(w)} 0L0 ${n(h)}L${n(-w)} 0Z"/>`;
    case 'approval':
      return `<path class="body" d="M${n(-w + SLOPE)} ${n(-h)}H${n(w - SLOPE)}L${n(w)} 0L${n(w - SLOPE)} ${n(h)}H${n(-w + SLOPE)}L${n(-w)} 0Z"/>${person(-w + 27)}`;
    case 'parallel':
      return rect(3, `<path class="bar" d="M${n(-w)} ${n(h)}H${n(w)}"/>`);
    case 'join':
      return rect(h);
    case 'terminal':
      return rect(h);
  }
}

/** The distance from the box to the outline at the place where an edge touches, `offset` away from the middle of that side. */
export function inset(box: Box, offset: number, direction: Direction): number {
  const { kind } = box.node;
  const { across, along } = extentOf(box, direction);
  const [w, h] = [across / 2, along / 2];
  const away = Math.min(Math.abs(offset), w);
  switch (kind) {
    case 'decision':
      return (h * away) / w;
    case 'start':
    case 'end':
      return h - Math.sqrt(Math.max(0, h * h - away * away));
    case 'approval':
      if (direction === 'right') return (SLOPE * away) / w;
      return away > w - SLOPE ? (h * (away - w + SLOPE)) / SLOPE : 0;
    default:
      return 0;
  }
}

/** The part of the width over which the ends of edges may spread. */
export function portSpan(box: Box, direction: Direction): number {
  return extentOf(box, direction).across * PORT_SHARE[box.node.kind];
}

const SLOPE = 16;
const PORT_SHARE: { readonly [kind in ShapeKind]: number } = {
  start: 0,
  end: 0.3,
  agent: 0.6,
  tool: 0.6,
  decision: 0.4,
  approval: 0.55,
  parallel: 0.75,
  join: 0.5,
  terminal: 0.4,
};

function person(x: number): string {
  return `<g class="person" transform="translate(${n(x)} 0)"><circle cy="-5" r="4.2"/><path d="M-7.5 9a7.5 7.5 0 0 1 15 0z"/></g>`;
}

export function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}
