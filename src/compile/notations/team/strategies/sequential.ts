/** `sequential`: every agent has one turn, in the order of the document. */
import { END, START, agentShapes, edgeShape } from '../drawing.ts';
import { success } from '../lowering.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';
import { siteOf } from '../bad-turn.ts';
import { strategy } from './strategy.ts';

export const sequential = strategy({
  type: 'sequential',
  fields: () => ({}),
  read: (_, __, team) => (team.names.length === 0 ? null : team.names),
  lower(l, names) {
    let next = success(l);
    for (const agent of names.toReversed()) next = addTurnOf(l, agent, addTermination(l, siteOf(l, agent), next));
    return next;
  },
  draw(names, team) {
    const stops = [START.id, ...names, END.id];
    return {
      nodes: [START, ...agentShapes(team), END],
      edges: stops.slice(1).map((to, index) => edgeShape(stops[index] ?? '', to, null)),
    };
  },
});
