/** The picture of a text. A node moves to its new place while the text changes. */
import { harmless } from '@sluice-internal/wire';
import type { ReactElement } from 'react';
import type { PlacedNode, PlacedPicture, ShapeKind } from '../data/types.ts';
import { Icon, type IconName } from '../ui/icon.tsx';

const ICONS: { readonly [kind in ShapeKind]?: IconName } = {
  agent: 'agent',
  tool: 'tool',
  decision: 'diamond',
  approval: 'person',
  parallel: 'split',
  terminal: 'flag',
};
const MARGIN = 16;

export function FlowPicture({ picture }: { readonly picture: PlacedPicture }): ReactElement {
  const { width, height, nodes, edges } = picture;
  return (
    <div className="drawn" style={{ width: width + 2 * MARGIN, height: height + 2 * MARGIN }}>
      <svg
        className="drawn-edges"
        width={width + 2 * MARGIN}
        height={height + 2 * MARGIN}
        viewBox={`${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`}
        aria-hidden="true"
      >
        {edges.map(({ path, tip, kind, label }, at) => (
          <g key={at} className={`drawn-edge ${kind}`}>
            <path d={path} />
            <path d={tip} className="drawn-tip" />
            {label !== null &&
              [...label.lines, ...label.guards, ...(label.bound === null ? [] : [`↺ ${label.bound}`])].map(
                (line, row, all) => (
                  <text key={line} x={label.x} y={label.y - (all.length * 15) / 2 + row * 15 + 11}>
                    {harmless(line)}
                  </text>
                ),
              )}
          </g>
        ))}
      </svg>
      <ul aria-label="Nodes">
        {nodes.map((node) => (
          <Shape key={node.id} node={node} />
        ))}
      </ul>
    </div>
  );
}

function Shape({ node }: { readonly node: PlacedNode }): ReactElement {
  const { kind, label, detail, description, x, y, w, h } = node;
  const isDot = kind === 'start' || kind === 'end';
  const icon = ICONS[kind];
  return (
    <li
      className={`drawn-node is-${kind}`}
      style={{ transform: `translate(${x + MARGIN}px, ${y + MARGIN}px)`, width: w, height: h }}
      title={description ?? undefined}
    >
      {isDot ? (
        <span className="visually-hidden">{kind}</span>
      ) : (
        <>
          {icon !== undefined && <Icon name={icon} />}
          <span className="drawn-text">
            {kind !== 'join' && <strong className="ellipsis">{harmless(label)}</strong>}
            {(detail !== null || kind === 'join') && <span className="mono ellipsis">{harmless(detail ?? label)}</span>}
          </span>
        </>
      )}
    </li>
  );
}
