/** The edges of the picture. The server has computed their lines. */
import { harmless } from '@sluice-internal/wire';
import { memo, type ReactElement } from 'react';
import type { Frame } from './frames.ts';
import type { ShownEdge } from './graph-model.ts';

interface EdgesProps {
  readonly edges: readonly ShownEdge[];
  readonly frames: readonly Frame[];
  readonly width: number;
  readonly height: number;
}

export const Edges = memo(function Edges({ edges, frames, width, height }: EdgesProps): ReactElement {
  // What was taken lies above what was possible.
  const sorted = edges.toSorted((a, b) => Number(a.isTaken) - Number(b.isTaken));
  return (
    <svg className="edges" width={width} height={height} aria-hidden="true">
      {frames.map(({ name, x, y, w, h }) => (
        <g key={name}>
          <rect className="frame" x={x} y={y} width={w} height={h} rx="8" />
          <text className="frame-name" x={x + 10} y={y + 16}>
            {harmless(name)}
          </text>
        </g>
      ))}
      {sorted.map(({ edge, key, isTaken, isLive }) => (
        <g key={key} className={`edge ${edge.kind} ${isTaken ? 'is-taken' : ''} ${isLive ? 'is-live' : ''}`}>
          <path className="edge-line" d={edge.path} />
          <path className="edge-tip" d={edge.tip} />
        </g>
      ))}
      {labelsOf(edges).map((label) => (
        <Label key={label.key} label={label} />
      ))}
    </svg>
  );
});

interface PlacedLabel {
  readonly key: string;
  readonly isTaken: boolean;
  readonly rows: readonly string[];
  readonly x: number;
  readonly y: number;
}

const LINE = 15;
const SIGN = 6.6;

/** A label that would lie on an earlier one lies below it. */
function labelsOf(edges: readonly ShownEdge[]): readonly PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  for (const { edge, key, isTaken, times } of edges) {
    if (edge.label === null) continue;
    const { x, y, lines, guards, bound } = edge.label;
    const loop = bound === null ? [] : [`↺ ${bound}${times > 1 ? ` · ${times} taken` : ''}`];
    const rows = [...lines, ...guards, ...loop];
    const label = { key, isTaken, rows, x, y };
    const below = placed.filter((other) => isOn(label, other)).map((other) => other.y + halfOf(other) + halfOf(label));
    placed.push({ ...label, y: Math.max(y, ...below) });
  }
  return placed;
}

const halfOf = ({ rows }: PlacedLabel): number => (rows.length * LINE) / 2;
const halfWidthOf = ({ rows }: PlacedLabel): number => (Math.max(0, ...rows.map((row) => row.length)) * SIGN) / 2;

function isOn(one: PlacedLabel, other: PlacedLabel): boolean {
  return (
    Math.abs(one.x - other.x) < halfWidthOf(one) + halfWidthOf(other) &&
    Math.abs(one.y - other.y) < halfOf(one) + halfOf(other)
  );
}

function Label({ label: { isTaken, rows, x, y } }: { readonly label: PlacedLabel }): ReactElement {
  const top = y - (rows.length * LINE) / 2;
  return (
    <g className={`edge-label ${isTaken ? 'is-taken' : ''}`}>
      {rows.map((text, at) => (
        <text key={text} x={x} y={top + at * LINE + 11}>
          {harmless(text)}
        </text>
      ))}
    </g>
  );
}
