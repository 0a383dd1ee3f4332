/**
 * Places the nodes. Each lane moves to the middle of its neighbours, as near as the distances allow, until nothing moves. Then
 * each row gets the room that the bends of its edges need.
 */
import type { Item, LayoutGraph } from './graph.ts';
import { separate, type Separation } from './separate.ts';

const GAP = 28;
const NARROW_GAP = 14;
/** The height of a row between two rows of nodes that no label stands in. */
export const EMPTY_ROW = 8;
const ROUNDS_MAX = 240;
/** The limit on layout work, so that a large picture is drawn in reasonable time. */
const WORK_MAX = 60_000;

export interface Placed {
  /** Centres, by item. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly rowTop: readonly number[];
  readonly rowBottom: readonly number[];
  readonly width: number;
  readonly height: number;
}

export function place(graph: LayoutGraph): Placed {
  const { items, rows } = graph;
  const x = xOf(graph);
  let [left, right] = items.length === 0 ? [0, 0] : [Infinity, -Infinity];
  for (const [index, item] of items.entries()) {
    left = Math.min(left, (x[index] as number) - item.left);
    right = Math.max(right, (x[index] as number) + item.right);
  }
  const bends = bendsOf(graph, x);
  const rowTop: number[] = [];
  const rowBottom: number[] = [];
  let y = 0;
  for (const [index, row] of rows.entries()) {
    const tallest = Math.max(...row.map((item) => (items[item] as Item).height), index % 2 === 1 ? EMPTY_ROW : 0);
    rowTop[index] = y;
    rowBottom[index] = y + tallest;
    y += tallest + graph.rowGap + Math.min(34, (bends.get(index) ?? 0) / 9);
  }
  return {
    x: x.map((each) => each - left),
    y: items.map(({ row }) => ((rowTop[row] as number) + (rowBottom[row] as number)) / 2),
    rowTop,
    rowBottom,
    width: right - left,
    height: rowBottom.at(-1) ?? 0,
  };
}

/** By row: how far to the side edges go below it. The farther, the more height they need to turn in. */
function bendsOf({ items, chains }: LayoutGraph, x: readonly number[]): ReadonlyMap<number, number> {
  const bends = new Map<number, number>();
  for (const chain of chains) {
    for (let index = 1; index < chain.items.length; index++) {
      const [upper, lower] = [chain.items[index - 1] as number, chain.items[index] as number];
      const { row } = items[upper] as Item;
      bends.set(row, Math.max(bends.get(row) ?? 0, Math.abs((x[upper] as number) - (x[lower] as number))));
    }
  }
  return bends;
}

function xOf(graph: LayoutGraph): readonly number[] {
  const { items } = graph;
  const lane = lanesOf(graph);
  const count = lane.reduce((most, each) => Math.max(most, each + 1), 0);
  const { before, order } = separationsOf(graph, lane, count);
  const pulls = pullsOf(graph, lane, count);
  const weights = pulls.map((pull) => 0.05 + pull.reduce((sum, { weight }) => sum + weight, 0));
  let x = separate(
    Array.from({ length: count }, () => 0),
    weights,
    order,
    before,
  );
  for (let round = 0; round < Math.min(ROUNDS_MAX, 20 + WORK_MAX / count); round++) {
    const wanted = x.map((own, index) => {
      const pull = pulls[index] ?? [];
      const total = pull.reduce((sum, { weight }) => sum + weight, 0);
      return total === 0
        ? own
        : pull.reduce((sum, { lane: other, weight }) => sum + (x[other] as number) * weight, 0) / total;
    });
    // Halfway only: two lanes that depend on each other would otherwise swap places for ever.
    x = separate(
      wanted.map((each, index) => (each + (x[index] as number)) / 2),
      weights,
      order,
      before,
    );
  }
  return items.map((_, item) => x[lane[item] as number] as number);
}

function separationsOf(
  { items, rows }: LayoutGraph,
  lane: readonly number[],
  count: number,
): { readonly before: readonly (readonly Separation[])[]; readonly order: readonly number[] } {
  // Two lanes that run side by side over many rows need one constraint only.
  const gaps = Array.from({ length: count }, () => new Map<number, number>());
  for (const row of rows) {
    for (let index = 1; index < row.length; index++) {
      const [a, b] = [row[index - 1] as number, row[index] as number];
      const [left, right] = [items[a] as Item, items[b] as Item];
      const gap = left.right + right.left + (left.box === null || right.box === null ? NARROW_GAP : GAP);
      const known = gaps[lane[b] as number] as Map<number, number>;
      known.set(lane[a] as number, Math.max(gap, known.get(lane[a] as number) ?? 0));
    }
  }
  const before = gaps.map((known, right) => [...known].map(([left, gap]): Separation => ({ left, right, gap })));
  return { before, order: leftFirst(before) };
}

/** Every lane after those to the left of it; the depth of the walk is that of the widest row. */
function leftFirst(before: readonly (readonly Separation[])[]): readonly number[] {
  const order: number[] = [];
  const seen = new Set<number>();
  const visit = (variable: number): void => {
    if (seen.has(variable)) return;
    seen.add(variable);
    for (const { left } of before[variable] ?? []) visit(left);
    order.push(variable);
  };
  for (const variable of before.keys()) visit(variable);
  return order;
}

interface Pull {
  readonly lane: number;
  readonly weight: number;
}

/** Normal routes pull harder than errors, limits and the way out, so that the usual way runs straight. */
function pullsOf(
  { items: all, chains }: LayoutGraph,
  lane: readonly number[],
  count: number,
): readonly (readonly Pull[])[] {
  const pulls = Array.from({ length: count }, (): Pull[] => []);
  for (const { edge, items } of chains) {
    const leaves = all[items.at(-1) as number]?.box?.node.kind === 'end';
    const weight = edge.back ? 0.3 : leaves || edge.kind === 'error' || edge.kind === 'over' ? 0.4 : 2;
    for (let index = 1; index < items.length; index++) {
      const [a, b] = [lane[items[index - 1] as number] as number, lane[items[index] as number] as number];
      if (a === b) continue;
      (pulls[a] as Pull[]).push({ lane: b, weight });
      (pulls[b] as Pull[]).push({ lane: a, weight });
    }
  }
  return pulls;
}

/**
 * The lane of each item, numbered from 0. Items of one lane stand exactly above each other: a node has a lane of its own, and the
 * waypoints of one edge share one, so that long edges run straight. If two edges cross, one of them changes lanes, which keeps
 * "left of" free of cycles.
 */
function lanesOf({ items, rows, chains }: LayoutGraph): readonly number[] {
  const position = new Map<number, number>();
  for (const row of rows) for (const [index, item] of row.entries()) position.set(item, index);
  const above = new Map<number, number>();
  for (const chain of chains) {
    for (let index = 2; index < chain.items.length - 1; index++)
      above.set(chain.items[index] as number, chain.items[index - 1] as number);
  }
  const lanes: number[] = Array.from({ length: items.length }, () => -1);
  let count = 0;
  let spine: number | null = null;
  for (const row of rows) {
    let rightmost = -1;
    const onSpine = row.find((item) => (items[item] as Item).onSpine);
    for (const item of row) {
      if (item === onSpine) {
        lanes[item] = spine ??= count++;
        continue;
      }
      const before = above.get(item);
      const from = before === undefined ? -1 : (position.get(before) as number);
      if (before !== undefined && from > rightmost) {
        lanes[item] = lanes[before] as number;
        rightmost = from;
      } else lanes[item] = count++;
    }
  }
  return lanes;
}
