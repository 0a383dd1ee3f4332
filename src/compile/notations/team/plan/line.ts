/** Plans of the strategies whose order is that of the document: one pass, or round and round. */
import { lowerRoundRobin } from '../strategies/roundrobin.ts';
import { lowerSequential } from '../strategies/sequential.ts';
import { demandTermination } from '../demand.ts';
import type { Reading, Team } from '../model.ts';
import { END, START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';

export function planSequential(_: Reading, team: Team): Plan | null {
  if (team.names.length === 0) return null;
  const stops = [START.id, ...team.names, END.id];
  return {
    turnsMax: null,
    lower: lowerSequential,
    nodes: [START, ...shapes(team), END],
    edges: stops.slice(1).map((to, index) => edgeShape(stops[index] ?? '', to, null)),
  };
}

export function planRoundRobin(reading: Reading, team: Team): Plan | null {
  const [first] = team.names;
  if (first === undefined) return null;
  demandTermination(reading, team, team.names);
  return {
    turnsMax: null,
    lower: lowerRoundRobin,
    nodes: [START, ...shapes(team)],
    edges: [
      edgeShape(START.id, first, null),
      ...team.names.map((agent, index) =>
        edgeShape(agent, team.names[(index + 1) % team.names.length] ?? agent, null, index === team.names.length - 1),
      ),
    ],
  };
}

export function shapes(team: Team, agents: Iterable<string> = team.names) {
  return [...agents].map((name) => agentShape(name, name, name, team.members.get(name)?.description ?? null));
}
