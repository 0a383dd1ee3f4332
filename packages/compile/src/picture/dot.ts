/** A picture as Graphviz text. */
import type { Direction, Picture, PictureEdge, PictureNode, ShapeKind } from './picture.ts';
import { edgeLabels, groupsOf, toolsLine } from './picture.ts';

export function renderDot(picture: Picture, direction: Direction = 'down'): string {
  const labels = edgeLabels(picture);
  const lines = [
    `digraph ${quote(picture.title)} {`,
    `  rankdir=${direction === 'right' ? 'LR' : 'TB'};`,
    '  node [fontname="Helvetica", fontsize=11];',
    '  edge [fontname="Helvetica", fontsize=9];',
  ];
  const draw = (node: PictureNode, indent: string): unknown =>
    lines.push(`${indent}${quote(node.id)} [${attributes(shape(node))}];`);
  for (const node of picture.nodes) if (node.group === undefined) draw(node, '  ');
  for (const [index, [group, nodes]] of [...groupsOf(picture)].entries()) {
    lines.push(`  subgraph cluster_${index} {`, `    label=${quote(group)};`);
    for (const node of nodes) draw(node, '    ');
    lines.push('  }');
  }
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

function shape(node: PictureNode): { readonly [name: string]: string } {
  const { kind, label, detail, description } = node;
  const lines = [label, detail === label ? null : detail, toolsLine(node)].filter((line) => line !== null);
  return {
    shape: SHAPES[kind],
    label: lines.join('\n'),
    ...(description === null ? {} : { tooltip: description }),
    ...(kind === 'approval' ? { penwidth: '2' } : {}),
  };
}

const LINES: { readonly [kind in PictureEdge['kind']]: { readonly [name: string]: string } } = {
  route: {},
  branch: { penwidth: '2' },
  join: { penwidth: '2' },
  error: { style: 'dashed', color: 'red' },
  over: { style: 'dotted' },
};

function line({ kind, back }: PictureEdge, label: string | null): { readonly [name: string]: string } {
  return { ...(label === null ? {} : { label }), ...LINES[kind], ...(back ? { constraint: 'false' } : {}) };
}

function attributes(values: { readonly [name: string]: string }): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(', ');
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
