/** The work of each topology: what happens between the plan and its aggregation. */
import type { NodeId } from '../../../ir/nodes.ts';
import { addBoard } from './topologies/board.ts';
import { addDebate } from './topologies/debate.ts';
import { addPeers } from './topologies/peers.ts';
import { addProcedure } from './topologies/procedure.ts';
import { addSwarm } from './topologies/swarm.ts';
import { addWorkers } from './topologies/workers.ts';
import { addTeams } from './topologies/teams.ts';
import type { AddStages } from './topologies/teams.ts';
import type { Lowering } from './lowering.ts';

/** Adds the stage and returns its first node. The summaries are there at `next`. */
export function addWork(l: Lowering, addStages: AddStages, next: NodeId): NodeId {
  const { work } = l.staged;
  switch (work.is) {
    case 'workers':
      return addWorkers(l, work, next);
    case 'teams':
      return addTeams(l, work, addStages, next);
    case 'peers':
      return addPeers(l, work, next);
    case 'debate':
      return addDebate(l, work, next);
    case 'sop':
      return addProcedure(l, work, next);
    case 'board':
      return addBoard(l, work, next);
    case 'swarm':
      return addSwarm(l, work, next);
  }
}
