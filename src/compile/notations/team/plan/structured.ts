/** The plan of a structured team. */
import { demandTermination } from '../demand.ts';
import type { Reading, Team } from '../model.ts';
import { START, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { firstOf, warnOfSilent } from './keyword.ts';
import { shapes } from './line.ts';
import { readStructuredRoutes, speakers } from '../read/routes.ts';
import type { RawCondition, RawStructuredRoute } from '../schema/routes.ts';
import { lowerStructured } from '../strategies/structured.ts';

export function planStructured(reading: Reading, team: Team): Plan | null {
  const routes = readStructuredRoutes(reading);
  const first = firstOf(reading, team);
  if (first === null || routes.length === 0) return null;
  const mayTake = ({ SourceAgents }: RawStructuredRoute, agent: string): boolean =>
    SourceAgents === undefined || SourceAgents.includes(agent);
  const speaking = speakers(first, (agent) =>
    routes.filter((route) => mayTake(route, agent)).map(({ Agent }) => Agent),
  );
  demandTermination(reading, team, speaking);
  warnOfSilent(reading, team, speaking, []);
  const edges = routes.flatMap((route) =>
    [...speaking]
      .filter((agent) => mayTake(route, agent))
      .map((agent) =>
        edgeShape(
          agent,
          route.Agent,
          wordsOf(route.Condition),
          team.names.indexOf(route.Agent) <= team.names.indexOf(agent),
        ),
      ),
  );
  return {
    turnsMax: null,
    lower: (l) => lowerStructured(l, routes, first, speaking),
    nodes: [START, ...shapes(team, speaking)],
    edges: [edgeShape(START.id, first, null), ...edges],
  };
}

function wordsOf({ Field, Is, IsNot, Contains, Exists }: RawCondition): string {
  if (Is !== undefined) return `${Field} is ${Is}`;
  if (IsNot !== undefined) return `${Field} is not ${IsNot}`;
  if (Contains !== undefined) return `${Field} contains ${Contains}`;
  return Exists === false ? `no ${Field}` : Field;
}
