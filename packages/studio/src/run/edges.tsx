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
      {edges.map(
        ({ edge: { label }, key, isTaken, times }) =>
          label !== null && <Label key={key} label={label} isTaken={isTaken} times={times} />,
      )}
    </svg>
  );
});

interface LabelProps {
  readonly label: NonNullable<ShownEdge['edge']['label']>;
  readonly isTaken: boolean;
  readonly times: number;
}

const LINE = 15;

function Label({ label: { x, y, lines, guards, bound }, isTaken, times }: LabelProps): ReactElement {
  const rows = [...lines, ...guards, ...(bound === null ? [] : [`↺ ${bound}${times > 1 ? ` · ${times} taken` : ''}`])];
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
