/**
 * The authored graph for drawing, not the lowered graph. Every renderer draws from it alone. Nodes are in the order of the
 * document. Ids are unique and may have any characters.
 */

export type ShapeKind =
  /** The start of the run, and the end of a path without a node of its own: small circles. */
  | 'start'
  | 'end'
  | 'agent'
  | 'tool'
  | 'decision'
  /** A question to a person. */
  | 'approval'
  /** Branches begin; the join that waits for them is a node of kind `join` of its own. */
  | 'parallel'
  | 'join'
  | 'terminal';

export interface PictureNode {
  readonly id: string;
  readonly kind: ShapeKind;
  /** The authored name. */
  readonly label: string;
  /** One line under the name: the agent, the tool, the question, the expression, the join policy. */
  readonly detail: string | null;
  /** The author's description, for a tooltip. */
  readonly description: string | null;
  /** The tools of an agent. */
  readonly tools?: readonly string[] | undefined;
  /** The sub-flow or phase that the node belongs to. */
  readonly group?: string | undefined;
}

export interface PictureEdge {
  readonly from: string;
  readonly to: string;
  /** `join`: from a branch's last node into the join. `over`: taken when a bound is used up. */
  readonly kind: 'route' | 'error' | 'branch' | 'join' | 'over';
  /** The condition, pattern or choice that the edge shows; null for an edge without a label. */
  readonly label: string | null;
  /** True if the edge closes a cycle. */
  readonly back: boolean;
  /** The checks before the edge is taken: validators, contracts, an approval. */
  readonly guards?: readonly string[] | undefined;
}

/** A cycle, or several that share nodes, and what ends it. */
export interface PictureCycle {
  readonly nodes: readonly string[];
  /** Such as `max_iterations: 100`; null where nothing bounds it. */
  readonly bound: string | null;
}

/** From top to bottom, or from left to right. */
export type Direction = 'down' | 'right';

export interface Picture {
  readonly title: string;
  readonly notation: string;
  readonly description: string | null;
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  readonly cycles: readonly PictureCycle[];
}

/** A node that has no description of its own. */
export function shape(id: string, kind: ShapeKind, label: string, detail: string | null = null): PictureNode {
  return { id, kind, label, detail, description: null };
}

export const START = shape('~start', 'start', 'start');
export const END = shape('~end', 'end', 'end');

export function edgeShape(
  from: string,
  to: string,
  label: string | null = null,
  back = false,
  kind: PictureEdge['kind'] = 'route',
): PictureEdge {
  return { from, to, kind, label, back };
}

/** The groups in the order of their first nodes, with the nodes of each. */
export function groupsOf({ nodes }: Picture): ReadonlyMap<string, readonly PictureNode[]> {
  const groups = Map.groupBy(nodes, ({ group }) => group ?? '');
  groups.delete('');
  return groups;
}

/** An agent with many tools names the first ones. */
const TOOLS_SHOWN = 3;

export function toolsLine({ tools = [] }: PictureNode): string | null {
  if (tools.length === 0) return null;
  const more = tools.length > TOOLS_SHOWN + 1 ? tools.length - TOOLS_SHOWN : 0;
  return `tools: ${(more === 0 ? tools : tools.slice(0, TOOLS_SHOWN)).join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

export function edgeLabels(picture: Picture): readonly (string | null)[] {
  const bounds = new Map<string, string>();
  for (const { nodes, bound } of picture.cycles) for (const id of nodes) bounds.set(id, bound ?? 'no bound');
  return picture.edges.map(({ to, label, back, kind, guards = [] }) => {
    const named =
      kind === 'error' ? (label === null ? 'error' : label === 'any error' ? label : `error: ${label}`) : label;
    const shown = guards.length === 0 ? named : `${named === null ? '' : `${named} `}[${guards.join(', ')}]`;
    const bound = back ? bounds.get(to) : undefined;
    if (bound === undefined) return shown;
    return shown === null ? `↺ ${bound}` : `${shown} (↺ ${bound})`;
  });
}
