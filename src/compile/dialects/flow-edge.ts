/** One way from an authored node to another, as it was written. */
import type { Range } from '../range.ts';

export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'route' | 'branch' | 'error';
  /** Its number among the node's edges of that kind. */
  readonly index: number;
  readonly at: Range;
}
