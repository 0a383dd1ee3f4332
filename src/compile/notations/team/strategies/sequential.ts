/** `sequential`: every agent once, in the order of the document. */
import type { NodeId } from '../../../../ir/nodes.ts';
import { success } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';

export function lowerSequential(l: Lowering): NodeId {
  let next = success(l);
  for (const agent of l.team.names.toReversed()) next = addOne(l, agent, next);
  return next;
}

/** A refused ending gives the agent its turn again, so that it may mend what is missing. */
function addOne(l: Lowering, agent: string, next: NodeId): NodeId {
  const begin = l.builder.idOf(agent);
  const site = { agent, hint: agent, origin: agent, again: begin, limit: 3 };
  return addTurnOf(l, agent, addTermination(l, site, next));
}
