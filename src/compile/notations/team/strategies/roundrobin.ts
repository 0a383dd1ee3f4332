/** `roundrobin`: agents take turns in the order of the document, until something ends the session. */
import type { NodeId } from '../../../../ir/nodes.ts';
import type { Lowering } from '../lowering.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';

export function lowerRoundRobin(l: Lowering): NodeId {
  const { builder, team } = l;
  const first = builder.idOf(team.names[0] ?? '');
  for (const [index, agent] of team.names.entries()) {
    const begin = builder.idOf(agent);
    const next = builder.idOf(team.names[(index + 1) % team.names.length] ?? agent);
    const site = { agent, hint: agent, origin: agent, again: begin, limit: 3 };
    addTurnOf(l, agent, addTermination(l, site, next));
  }
  return first;
}
