/** In which row each node stands: as far down as the longest way to it, over edges that do not lead back. */
import type { PictureEdge, PictureNode } from '../picture.ts';

type Ends = readonly (readonly [from: number, to: number])[];

export function rowsOf(nodes: readonly PictureNode[], ends: Ends, edges: readonly PictureEdge[]): readonly number[] {
  const next = nodes.map((): number[] => []);
  for (const [position, [from, to]] of ends.entries()) {
    if (from !== to && edges[position]?.back !== true) (next[from] as number[]).push(to);
  }
  const order = forwardOrder(next);
  const rank = new Map(order.map((node, position) => [node, position]));
  const rows = nodes.map(() => 0);
  for (const node of order) {
    for (const to of next[node] as number[]) {
      // An edge that is not marked as leading back but closes a cycle all the same is drawn upwards.
      if ((rank.get(to) as number) > (rank.get(node) as number))
        rows[to] = Math.max(rows[to] as number, (rows[node] as number) + 1);
    }
  }
  const bottom = Math.max(0, ...rows.map((row, node) => (nodes[node]?.kind === 'end' ? 0 : row))) + 1;
  for (const [node, { kind }] of nodes.entries())
    if (kind === 'end' && (rows[node] as number) > 0) rows[node] = Math.max(bottom, rows[node] as number);
  // Two nodes in one row cannot be joined by an edge that runs from row to row.
  return spread(rows, ends);
}

function spread(rows: number[], ends: Ends): readonly number[] {
  for (const [from, to] of ends) {
    if (from === to || rows[from] !== rows[to]) continue;
    const row = rows[to] as number;
    for (const [node, each] of rows.entries()) if (node !== from && (each > row || node === to)) rows[node] = each + 1;
  }
  return rows;
}

/** Reverse postorder of a depth-first walk, without recursion: a long chain must not exhaust the stack. */
function forwardOrder(next: readonly (readonly number[])[]): readonly number[] {
  const seen = new Set<number>();
  const done: number[] = [];
  for (let root = 0; root < next.length; root++) {
    if (seen.has(root)) continue;
    seen.add(root);
    const stack: [node: number, position: number][] = [[root, 0]];
    for (let top = stack[stack.length - 1]; top !== undefined; top = stack[stack.length - 1]) {
      const to = next[top[0]]?.[top[1]++];
      if (to === undefined) {
        done.push(top[0]);
        stack.pop();
      } else if (!seen.has(to)) {
        seen.add(to);
        stack.push([to, 0]);
      }
    }
  }
  return done.reverse();
}
