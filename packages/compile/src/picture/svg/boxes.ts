/** The size and the text of each node. */
import { toolsLine, type Direction, type PictureNode, type ShapeKind } from '../picture.ts';
import { measure, wrap } from './text.ts';

export const LABEL_SIZE = 14;
export const DETAIL_SIZE = 11.5;

export interface Box {
  readonly node: PictureNode;
  readonly label: readonly string[];
  readonly detail: readonly string[];
  readonly tools: readonly string[];
  readonly width: number;
  readonly height: number;
}

export interface PlacedBox {
  readonly box: Box;
  readonly centre: readonly [x: number, y: number];
}

export function boxOf(node: PictureNode): Box {
  if (node.kind === 'start') return { node, label: [], detail: [], tools: [], width: 16, height: 16 };
  if (node.kind === 'end') return { node, label: [], detail: [], tools: [], width: 22, height: 22 };
  const label = node.kind === 'join' ? [] : wrap(node.label, LABEL_SIZE, 200, 2);
  const text = node.kind === 'join' ? joinText(node) : (node.detail ?? '');
  const detail = text === '' ? [] : wrap(text, DETAIL_SIZE, 210, node.kind === 'decision' ? 1 : 2);
  const used = toolsLine(node);
  const tools = used === null ? [] : wrap(used, DETAIL_SIZE, 210, 2);
  const textWidth = Math.max(
    0,
    ...label.map((line) => measure(line, LABEL_SIZE)),
    ...[...detail, ...tools].map((line) => measure(line, DETAIL_SIZE)),
  );
  const textHeight = label.length * 18 + (detail.length + tools.length) * 15;
  const { extraWidth, extraHeight, least } = ROOM[node.kind];
  // At the height of its text, a diamond is about half as wide as at its middle.
  const slant = node.kind === 'decision' ? 1.35 : 1;
  return {
    node,
    label,
    detail,
    tools,
    width: Math.max(least, textWidth * slant + extraWidth),
    height: textHeight * (node.kind === 'decision' ? 1.5 : 1) + extraHeight,
  };
}

const CARD_LEAST = 152;
const CARD_MOST = 224;
const CARD_HEIGHT = 38;
const CARD_LABEL_SIZE = 13;
/** The icon, the time and what else a page writes into a card. */
const CARD_ROOM = 92;

/** As a page draws it: cards of one height, with room for a state and a time. */
export function cardOf(node: PictureNode): Box {
  const own = boxOf(node);
  if (node.kind === 'start' || node.kind === 'end') return { ...own, width: 14, height: 14 };
  if (node.kind === 'join') return { ...own, width: own.width + 18, height: 24 };
  const text = Math.max(measure(node.label, CARD_LABEL_SIZE) + CARD_ROOM, measure(node.detail ?? '', DETAIL_SIZE) + 56);
  return {
    ...own,
    // All cards are rectangles, and edges end at their sides.
    node: { ...node, kind: 'agent' },
    width: Math.min(CARD_MOST, Math.max(CARD_LEAST, text)),
    height: CARD_HEIGHT,
  };
}

/** The extent of a box across the direction of the picture, and along it. */
export function extentOf(
  { width, height }: Box,
  direction: Direction,
): { readonly across: number; readonly along: number } {
  return direction === 'down' ? { across: width, along: height } : { across: height, along: width };
}

/** A join is a badge: its policy, and its name where it has one of its own. */
function joinText({ label, detail }: PictureNode): string {
  if (detail === null) return label;
  return label === '' || label === 'join' ? detail : `${label} · ${detail}`;
}

const ROOM: {
  readonly [kind in ShapeKind]: { readonly extraWidth: number; readonly extraHeight: number; readonly least: number };
} = {
  start: { extraWidth: 0, extraHeight: 0, least: 16 },
  end: { extraWidth: 0, extraHeight: 0, least: 22 },
  agent: { extraWidth: 36, extraHeight: 20, least: 110 },
  tool: { extraWidth: 44, extraHeight: 20, least: 110 },
  decision: { extraWidth: 50, extraHeight: 26, least: 120 },
  approval: { extraWidth: 76, extraHeight: 22, least: 130 },
  parallel: { extraWidth: 40, extraHeight: 16, least: 120 },
  join: { extraWidth: 26, extraHeight: 10, least: 40 },
  terminal: { extraWidth: 44, extraHeight: 16, least: 90 },
};
