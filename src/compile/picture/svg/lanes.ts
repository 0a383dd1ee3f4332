/**
 * Which items have to stand exactly above each other: a node is a lane of its own, and the waypoints of one edge share one, so
 * that long edges run straight. Where two edges cross, one of them changes lanes; that keeps "left of" free of cycles.
 */
import type { LayoutGraph } from './graph.ts';

/** The lane of each item, numbered from 0. */
export function lanesOf({ items, rows, chains }: LayoutGraph): readonly number[] {
  const position = new Map<number, number>();
  for (const row of rows) for (const [index, item] of row.entries()) position.set(item, index);
  const above = new Map<number, number>();
  for (const chain of chains) {
    for (let index = 2; index < chain.items.length - 1; index++)
      above.set(chain.items[index] as number, chain.items[index - 1] as number);
  }
  const lanes: number[] = Array.from({ length: items.length }, () => -1);
  let count = 0;
  for (const row of rows) {
    let rightmost = -1;
    for (const item of row) {
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
