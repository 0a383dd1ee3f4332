/**
 * The spine: the way that a run takes if each node takes its first route. It runs straight down, branches stand around it in the
 * order of the document, and all other ways leave it to the right.
 */
import type { PictureEdge, PictureNode } from '../picture.ts';

/** Left of the spine, on it, or right of it. */
export type Side = -1 | 0 | 1;

export interface Spine {
  /** By node. */
  readonly sides: readonly Side[];
  /** By edge: true if it runs from one node of the spine to the next. */
  readonly runsDown: readonly boolean[];
}

type Ends = readonly (readonly [from: number, to: number])[];

export function spineOf(nodes: readonly PictureNode[], edges: readonly PictureEdge[], ends: Ends): Spine {
  const out = nodes.map((): number[] => []);
  for (const [edge, [from, to]] of ends.entries())
    if (from !== to && edges[edge]?.back !== true) (out[from] as number[]).push(edge);
  const walk = new Walk({ nodes, edges, ends, out });
  const first = nodes.findIndex(({ kind }) => kind === 'start');
  if (nodes.length > 0) walk.follow(Math.max(0, first), 0);
  return {
    sides: nodes.map((_, node) => walk.sides.get(node) ?? 1),
    runsDown: edges.map((_, edge) => walk.down.has(edge)),
  };
}

interface Ways {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  readonly ends: Ends;
  /** By node: the edges that leave it and do not lead back. */
  readonly out: readonly (readonly number[])[];
}

class Walk {
  readonly sides = new Map<number, Side>();
  readonly down = new Set<number>();
  readonly #ways: Ways;

  constructor(ways: Ways) {
    this.#ways = ways;
  }

  /** Follows the first routes from a node of the spine, or of one side of it. */
  follow(from: number, side: Side): void {
    const open: { readonly node: number; readonly side: Side }[] = [{ node: from, side }];
    for (let at = open.shift(); at !== undefined; at = open.shift()) {
      if (this.sides.has(at.node)) continue;
      this.sides.set(at.node, at.side);
      const ways = this.#ways.out[at.node] ?? [];
      const branches = ways.filter((edge) => this.#ways.edges[edge]?.kind === 'branch');
      const main = this.#mainOf(ways);
      const sides = sidesOf(branches.length);
      const next = ways.map((edge) => {
        const place = branches.indexOf(edge);
        const turn: Side = place >= 0 ? (sides[place] ?? 0) : edge === main ? 0 : 1;
        const on: Side = at.side === 0 ? turn : at.side;
        if (at.side === 0 && on === 0) this.down.add(edge);
        return { node: this.#ways.ends[edge]?.[1] as number, side: on };
      });
      // Where branches stand on both sides only, the spine goes on at their join.
      const join = at.side === 0 && branches.length > 0 && !sides.includes(0) ? this.#joinAfter(at.node) : null;
      // The spine is found before what leaves it: a node that both lead to stands on the spine.
      const onward = [...(join === null ? [] : [{ node: join, side: 0 as const }]), ...next];
      open.unshift(...onward.filter((each) => each.side === 0));
      open.push(...onward.filter((each) => each.side !== 0));
    }
  }

  /** The first route that does not leave the flow at once; else the first one. */
  #mainOf(ways: readonly number[]): number | undefined {
    const { nodes, edges, ends } = this.#ways;
    const routes = ways.filter((edge) => edges[edge]?.kind === 'route' || edges[edge]?.kind === 'join');
    return routes.find((edge) => nodes[ends[edge]?.[1] as number]?.kind !== 'end') ?? routes[0];
  }

  #joinAfter(from: number): number | null {
    const { nodes, ends, out } = this.#ways;
    const seen = new Set<number>();
    const open = [from];
    for (let node = open.shift(); node !== undefined; node = open.shift()) {
      if (seen.has(node)) continue;
      seen.add(node);
      if (node !== from && nodes[node]?.kind === 'join') return node;
      open.push(...(out[node] ?? []).map((edge) => ends[edge]?.[1] as number));
    }
    return null;
  }
}

/** The middle one of an odd number stands on the spine. */
function sidesOf(count: number): readonly Side[] {
  return Array.from({ length: count }, (_, index) => Math.sign(index - (count - 1) / 2) as Side);
}
