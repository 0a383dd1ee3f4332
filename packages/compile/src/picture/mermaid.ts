/** A picture as Mermaid text: shapes by kind, conditions on edges, errors dotted, cycle bounds named on the edge that closes them. */
import type { Direction, Picture, PictureEdge, PictureNode, ShapeKind } from './picture.ts';
import { edgeLabels, groupsOf, toolsLine } from './picture.ts';

export function renderMermaid(picture: Picture, direction: Direction = 'down'): string {
  const names = new Map(picture.nodes.map(({ id }, index) => [id, `n${index}`]));
  const labels = edgeLabels(picture);
  const lines = [`flowchart ${direction === 'right' ? 'LR' : 'TD'}`];
  const draw = (node: PictureNode, indent: string): unknown =>
    lines.push(`${indent}${names.get(node.id) ?? ''}${shape(node)}`);
  for (const node of picture.nodes) if (node.group === undefined) draw(node, '  ');
  for (const [index, [group, nodes]] of [...groupsOf(picture)].entries()) {
    lines.push(`  subgraph g${index}["${escape(group)}"]`);
    for (const node of nodes) draw(node, '    ');
    lines.push('  end');
  }
  for (const [index, edge] of picture.edges.entries()) {
    const [from, to] = [names.get(edge.from), names.get(edge.to)];
    if (from !== undefined && to !== undefined) lines.push(`  ${from} ${arrow(edge, labels[index] ?? null)} ${to}`);
  }
  for (const [kind, style] of Object.entries(STYLES)) {
    const members = picture.nodes.filter((node) => node.kind === kind).map(({ id }) => names.get(id) ?? '');
    if (members.length > 0) lines.push(`  classDef ${kind} ${style}`, `  class ${members.join(',')} ${kind}`);
  }
  return `${lines.join('\n')}\n`;
}

const BRACKETS: { readonly [kind in ShapeKind]: readonly [string, string] } = {
  start: ['((', '))'],
  end: ['(((', ')))'],
  agent: ['[', ']'],
  tool: ['[[', ']]'],
  decision: ['{', '}'],
  approval: ['{{', '}}'],
  parallel: ['[/', '\\]'],
  join: ['[\\', '/]'],
  terminal: ['([', '])'],
};

const STYLES: { readonly [kind in ShapeKind]?: string } = {
  approval: 'stroke-width:3px',
  terminal: 'stroke-width:2px',
};

function shape(node: PictureNode): string {
  const { kind, label, detail } = node;
  const [open, close] = BRACKETS[kind];
  const small = [detail === label ? null : detail, toolsLine(node)].filter((line) => line !== null);
  const text = [escape(label), ...small.map((line) => `<small>${escape(clipped(line))}</small>`)].join('<br/>');
  return `${open}"${text}"${close}`;
}

const ARROWS: { readonly [kind in PictureEdge['kind']]: string } = {
  route: '-->',
  branch: '==>',
  join: '==>',
  error: '-.->',
  over: '-.->',
};

function arrow({ kind }: PictureEdge, label: string | null): string {
  return `${ARROWS[kind]}${label === null ? '' : `|"${escape(clipped(label))}"|`}`;
}

/** Mermaid reads HTML entities inside quotes, written with a hash. */
function escape(text: string): string {
  return text.replaceAll(/[#"<>&`|\\[\]{}()]|\s+/g, (found) =>
    /^\s/.test(found) ? ' ' : `#${found.codePointAt(0) ?? 32};`,
  );
}

function clipped(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
