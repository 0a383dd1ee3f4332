/** A picture as Graphviz text. */
import type { Picture, PictureEdge, PictureNode, ShapeKind } from './picture.ts';
import { edgeLabels } from './picture.ts';

export function renderDot(picture: Picture): string {
  const labels = edgeLabels(picture);
  const lines = [
    `digraph ${quote(picture.title)} {`,
    '  rankdir=TB;',
    '  node [fontname="Helvetica", fontsize=11];',
    '  edge [fontname="Helvetica", fontsize=9];',
  ];
  for (const node of picture.nodes) lines.push(`  ${quote(node.id)} [${attributes(shape(node))}];`);
  for (const [index, edge] of picture.edges.entries()) {
    lines.push(`  ${quote(edge.from)} -> ${quote(edge.to)} [${attributes(line(edge, labels[index] ?? null))}];`);
  }
  return `${[...lines, '}'].join('\n')}\n`;
}

const SHAPES: { readonly [kind in ShapeKind]: string } = {
  start: 'circle',
  end: 'doublecircle',
  agent: 'box',
  tool: 'component',
  decision: 'diamond',
  approval: 'hexagon',
  parallel: 'trapezium',
  join: 'invtrapezium',
  terminal: 'oval',
};

function shape({ kind, label, detail, description }: PictureNode): { readonly [name: string]: string } {
  return {
    shape: SHAPES[kind],
    label: detail === null || detail === label ? label : `${label}\n${detail}`,
    ...(description === null ? {} : { tooltip: description }),
    ...(kind === 'approval' ? { penwidth: '2' } : {}),
  };
}

function line({ kind, back }: PictureEdge, label: string | null): { readonly [name: string]: string } {
  return {
    ...(label === null ? {} : { label }),
    ...(kind === 'error'
      ? { style: 'dashed', color: 'red' }
      : kind === 'over'
        ? { style: 'dotted' }
        : kind === 'route'
          ? {}
          : { penwidth: '2' }),
    ...(back ? { constraint: 'false' } : {}),
  };
}

function attributes(values: { readonly [name: string]: string }): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(', ');
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
