/** The ways out of a node, in one place: what verify, the bounds and the pruning walk along must be the same graph. */
import type { FlowBody, Node, NodeId } from '../../ir/nodes.ts';

/** `error` is a way out that the flow declares for a failure; `fault` is where an expression that cannot be evaluated leads. */
export type EdgeKind = 'next' | 'case' | 'error' | 'fault' | 'branch' | 'over';
export interface Edge {
  readonly to: NodeId;
  readonly kind: EdgeKind;
}

type Meters = FlowBody['meters'];

/** With the ways that a tripped meter takes. */
export function edgesOf(node: Node, meters: Meters, fail: NodeId): readonly Edge[] {
  const over = (node.charges ?? []).flatMap((id): Edge[] => {
    const meter = meters[id];
    if (meter === undefined || meter.max === null) return [];
    const budget = meter.unit !== 'visits' && meter.unit !== 'repeats';
    return [{ to: budget ? (node.denied ?? meter.over) : meter.over, kind: 'over' }];
  });
  return [...ownEdges(node, fail), ...over];
}

/** A let, a pick, a fork or an end whose expression cannot be evaluated goes to `fail`. */
function ownEdges(node: Node, fail: NodeId): readonly Edge[] {
  switch (node.op) {
    case 'let':
      return [
        { to: node.next, kind: 'next' },
        { to: fail, kind: 'fault' },
      ];
    case 'pick':
      return [...node.cases.map(({ to }): Edge => ({ to, kind: 'case' })), { to: node.otherwise, kind: 'case' }];
    case 'do':
      return [
        { to: node.next, kind: 'next' },
        ...node.failed.map(({ to }): Edge => ({ to, kind: 'error' })),
        { to: node.fail, kind: 'error' },
      ];
    case 'fork': {
      const heads = 'heads' in node.over ? node.over.heads.map(({ to }) => to) : [node.over.head];
      return [
        { to: node.next, kind: 'next' },
        ...heads.map((to): Edge => ({ to, kind: 'branch' })),
        ...node.failed.map(({ to }): Edge => ({ to, kind: 'error' })),
        { to: node.fail, kind: 'error' },
        { to: fail, kind: 'fault' },
      ];
    }
    case 'end':
      return CANNOT_FAIL.test(node.output) ? [] : [{ to: fail, kind: 'fault' }];
  }
}

/** A mere path, or null: reading it never fails. */
const CANNOT_FAIL = /^[A-Za-z_][\w.]*$/;
