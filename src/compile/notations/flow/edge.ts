/** One way from an authored node to another, as it was written. */
import type { Range } from '../../source/range.ts';

export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'route' | 'branch' | 'error';
  /** Its number among the node's edges of that kind. */
  readonly index: number;
  readonly at: Range;
}

/** What the outputs of branches are called. Two branches may begin at the same node. */
export function branchNames(branches: readonly { readonly to: string }[]): readonly string[] {
  const seen = new Map<string, number>();
  return branches.map(({ to }) => {
    const count = (seen.get(to) ?? 0) + 1;
    seen.set(to, count);
    return count === 1 ? to : `${to}#${count}`;
  });
}
