/** The work of each topology: what happens between the plan and its aggregation. */
import type { NodeId } from '../../../ir/nodes.ts';
import type { Lowering } from './lowering.ts';
import { addWorkers } from './workers.ts';

/** Adds the stage and returns its first node. The summaries are there at `next`. */
export function addWork(l: Lowering, next: NodeId): NodeId {
  const { work } = l.staged;
  switch (work.is) {
    case 'workers':
      return addWorkers(l, work, next);
    default:
      throw new Error(`invariant: no lowering for ${work.is}`);
  }
}
