/** The order within each row: barycentres swept down and up, keeping the order with the fewest crossings. */
import type { Item, LayoutGraph } from './graph.ts';

const SWEEPS = 12;

interface Links {
  /** By item: its neighbours in the row above, and in the row below. */
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
}

/** Changes the order of `graph.rows` in place. */
export function orderRows(graph: LayoutGraph): void {
  const { rows, items } = graph;
  const links = linksOf(graph);
  // What stands left of the spine stays left of it.
  for (const row of rows) row.sort((a, b) => (items[a] as Item).side - (items[b] as Item).side);
  let best = rows.map((row) => [...row]);
  let fewest = crossingsIn(rows, links);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    const positions = positionsIn(rows, graph.items.length);
    const order = down ? rows.keys() : [...rows.keys()].reverse();
    for (const index of order) sortRow(rows[index] as number[], items, down ? links.above : links.below, positions);
    const crossings = crossingsIn(rows, links);
    if (crossings < fewest) [best, fewest] = [rows.map((row) => [...row]), crossings];
  }
  for (const [index, row] of best.entries()) rows[index] = row;
}

function linksOf({ items, chains }: LayoutGraph): Links {
  const above = items.map((): number[] => []);
  const below = items.map((): number[] => []);
  for (const chain of chains) {
    for (let position = 1; position < chain.items.length; position++) {
      const [upper, lower] = [chain.items[position - 1] as number, chain.items[position] as number];
      (below[upper] as number[]).push(lower);
      (above[lower] as number[]).push(upper);
    }
  }
  return { above, below };
}

function sortRow(
  row: number[],
  items: readonly Item[],
  neighbours: readonly (readonly number[])[],
  positions: number[],
): void {
  const centres = new Map(row.map((item, position) => [item, centreOf(neighbours[item] ?? [], positions) ?? position]));
  const sideOf = (item: number): number => (items[item] as Item).side;
  row.sort((a, b) => sideOf(a) - sideOf(b) || (centres.get(a) as number) - (centres.get(b) as number));
  for (const [position, item] of row.entries()) positions[item] = position;
}

function centreOf(neighbours: readonly number[], positions: readonly number[]): number | null {
  if (neighbours.length === 0) return null;
  return neighbours.reduce((sum, each) => sum + (positions[each] as number), 0) / neighbours.length;
}

function positionsIn(rows: readonly (readonly number[])[], count: number): number[] {
  const positions: number[] = Array.from({ length: count }, () => 0);
  for (const row of rows) for (const [position, item] of row.entries()) positions[item] = position;
  return positions;
}

function crossingsIn(rows: readonly (readonly number[])[], { below }: Links): number {
  let crossings = 0;
  const positions = positionsIn(rows, below.length);
  for (const row of rows) {
    const targets = row.flatMap((item) =>
      [...(below[item] ?? [])].map((to) => positions[to] as number).sort((a, b) => a - b),
    );
    crossings += inversions(targets);
  }
  return crossings;
}

/** Pairs in the wrong order, by insertion into a sorted list: rows are short. */
function inversions(numbers: readonly number[]): number {
  const sorted: number[] = [];
  let found = 0;
  for (const value of numbers) {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] as number) <= value) low = middle + 1;
      else high = middle;
    }
    found += sorted.length - low;
    sorted.splice(low, 0, value);
  }
  return found;
}
