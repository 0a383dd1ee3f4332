/**
 * Which part of a run each node of the picture stands for. In most notations a node of the picture has the id or the name of a node of the
 * run. Others stand for calls: of an agent, of tools, or for the questions to people. A node that stands for nothing is passed through.
 */
import type { Bar, RunView } from '@sluice-internal/wire';
import type { PlacedNode, PlacedPicture } from '../data/types.ts';

export interface Stretch {
  readonly bar: Bar;
  readonly number: number;
}

export interface Part {
  /** The node of the run, if there is exactly one. */
  readonly id: string | null;
  readonly stretches: readonly Stretch[];
}

const NOTHING: Part = { id: null, stretches: [] };

export function partsOf({ nodes }: PlacedPicture, tip: RunView): ReadonlyMap<string, Part> {
  const ids = new Set([...Object.keys(tip.nodes), ...tip.bars.map(({ node }) => node)]);
  const byNode = Map.groupBy(tip.bars, ({ node }) => node);
  const named = new Map(nodes.map((node) => [node.id, namedBy(node, ids)]));
  const taken = new Set([...named.values()].flat());
  const free = tip.bars.filter(({ node, kind }) => kind !== 'node' && !taken.has(node));
  return new Map(
    nodes.map((node) => {
      const own = named.get(node.id) ?? [];
      const bars = own.length > 0 ? own.flatMap((id) => visitsIn(byNode.get(id) ?? [])) : callsOf(node, tip.bars, free);
      const stretches = bars.toSorted((a, b) => a.seq - b.seq).map((bar, index) => ({ bar, number: index + 1 }));
      return [
        node.id,
        own.length + bars.length === 0 ? NOTHING : { id: own.length === 1 ? (own[0] ?? null) : null, stretches },
      ];
    }),
  );
}

/** A node whose visits are not told has its calls. */
function visitsIn(bars: readonly Bar[]): readonly Bar[] {
  const visits = bars.filter(({ kind }) => kind === 'node');
  return visits.length > 0 ? visits : bars.filter(({ kind }) => kind !== 'pause');
}

function namedBy({ id, kind, label, detail }: PlacedNode, ids: ReadonlySet<string>): readonly string[] {
  if (kind === 'start' || kind === 'end' || (kind === 'join' && !ids.has(label))) return [];
  const exact = [id, label].find((each) => ids.has(each));
  if (exact !== undefined) return [exact];
  const inside = [...ids].filter((each) => each.startsWith(`${label}/`));
  if (inside.length > 0) return inside;
  return kind === 'agent' && detail !== null && ids.has(detail) ? [detail] : [];
}

function callsOf({ kind, label, detail, id }: PlacedNode, all: readonly Bar[], free: readonly Bar[]): readonly Bar[] {
  const names = [label, id.split('/').at(-1) ?? '', ...(detail ?? '').split(', ')];
  if (kind === 'agent') return all.filter((bar) => bar.kind === 'model' && names.includes(bar.label));
  if (kind === 'tool') return all.filter((bar) => bar.kind === 'tool' && names.includes(bar.label));
  return kind === 'approval' ? free.filter((bar) => bar.kind === 'question') : [];
}
