/**
 * The authored graph as something to draw: what people wrote, not what it was lowered to. Every renderer draws from this and
 * from nothing else. Nodes are in the order of the document; ids are unique and may hold any characters.
 */

export type ShapeKind =
  /** Where the run begins, and where a path ends without a node of its own: small circles. */
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
}

/** A cycle, or several that share nodes, and what ends it. */
export interface PictureCycle {
  readonly nodes: readonly string[];
  /** Such as `max_iterations: 100`; null where nothing bounds it. */
  readonly bound: string | null;
}

export interface Picture {
  readonly title: string;
  readonly notation: string;
  readonly description: string | null;
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  readonly cycles: readonly PictureCycle[];
}

export function edgeLabels(picture: Picture): readonly (string | null)[] {
  const bounds = new Map<string, string>();
  for (const { nodes, bound } of picture.cycles) for (const id of nodes) bounds.set(id, bound ?? 'no bound');
  return picture.edges.map(({ to, label, back, kind }) => {
    const shown =
      kind === 'error' ? (label === null ? 'error' : label === 'any error' ? label : `error: ${label}`) : label;
    const bound = back ? bounds.get(to) : undefined;
    if (bound === undefined) return shown;
    return shown === null ? `↺ ${bound}` : `${shown} (↺ ${bound})`;
  });
}
