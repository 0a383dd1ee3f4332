/** A join that failed because a branch did: what the run fails by is that branch's failure, and not that of the join. */
import type { NodeId } from '../../ir/nodes.ts';
import type { Builder } from './builder.ts';

/** `into` is the slot with the outcomes; a branch that was stopped has no failure of its own. */
export function addBlame(builder: Builder, hint: string, origin: string, into: string, next: NodeId): NodeId {
  const value = `cel.bind(lost, ${into}.filter(b, b.state != "completed" && b.error != null), size(lost) == 0 ? error : lost[0].error)`;
  return builder.add(builder.fresh(`${hint}.blame`), {
    op: 'let',
    label: { name: origin },
    writes: [{ slot: 'error', mode: 'set', value }],
    next,
  });
}
