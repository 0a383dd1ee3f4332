/**
 * `roundrobin`: agents take turns in the order of the document, round after round, until a termination fires. `sequential`:
 * every agent has one turn, in the same order.
 */
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { agentShapes } from '../drawing.ts';
import { addTermination, demandTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';
import { siteOf } from '../bad-turn.ts';
import { strategy } from './strategy.ts';
import { success } from '../lowering.ts';

export const roundRobin = strategy({
  type: 'roundrobin',
  fields: () => ({}),
  read(_, reading, team) {
    const [first] = team.names;
    if (first === undefined) return null;
    demandTermination(reading, team, team.names);
    return { first, names: team.names };
  },
  lower(l, { first, names }) {
    for (const [index, agent] of names.entries()) {
      const next = l.builder.idOf(names[(index + 1) % names.length] ?? agent);
      addTurnOf(l, agent, addTermination(l, siteOf(l, agent), next));
    }
    return l.builder.idOf(first);
  },
  draw: ({ first, names }, team) => ({
    nodes: [START, ...agentShapes(team)],
    edges: [
      edgeShape(START.id, first),
      ...names.map((agent, index) =>
        edgeShape(agent, names[(index + 1) % names.length] ?? agent, null, index === names.length - 1),
      ),
    ],
  }),
});

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
      edges: stops.slice(1).map((to, index) => edgeShape(stops[index] ?? '', to)),
    };
  },
});
