/** The plan of a keyword team: who can come to speak, what each may say, and whether somebody can end the session. */
import { demandTermination } from '../demand.ts';
import { isTerminal, lowerKeyword, mayTake } from '../strategies/keyword.ts';
import type { Reading, Team } from '../model.ts';
import { END, START, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { shapes } from './line.ts';
import { followers, readRoutes, speakers } from '../read/routes.ts';

export function planKeyword(reading: Reading, team: Team): Plan | null {
  const routes = readRoutes(reading);
  const first = firstOf(reading, team);
  if (first === null || routes.length === 0) return null;
  const speaking = speakers(first, followers(routes));
  const ends = routes.some(({ raw }) => isTerminal(raw) && [...speaking].some((agent) => mayTake(raw, agent)));
  if (!ends) demandTermination(reading, team, speaking);
  warnOfSilent(
    reading,
    team,
    speaking,
    routes.flatMap(({ raw }) => raw.RecoveryAgent ?? []),
  );
  const edges = routes.flatMap(({ raw }) =>
    [...speaking]
      .filter((agent) => mayTake(raw, agent))
      .map((agent) =>
        edgeShape(
          agent,
          isTerminal(raw) ? END.id : raw.Agent,
          raw.Keyword,
          !isTerminal(raw) && team.names.indexOf(raw.Agent) <= team.names.indexOf(agent),
        ),
      ),
  );
  return {
    turnsMax: null,
    lower: (l) => lowerKeyword(l, routes, first, speaking),
    nodes: [START, ...shapes(team, speaking), ...(ends ? [END] : [])],
    edges: [edgeShape(START.id, first, null), ...edges],
  };
}

/** Who has the first turn. */
export function firstOf({ body, agent }: Reading, team: Team): string | null {
  const named = body.value.Selection.DefaultAgent;
  if (named === undefined) return team.names[0] ?? null;
  return agent(named, ['Selection', 'DefaultAgent']) && team.members.has(named) ? named : null;
}

export function warnOfSilent(
  { body, report }: Reading,
  team: Team,
  speaking: ReadonlySet<string>,
  others: readonly string[],
): void {
  // A route that could not be read may be the one that leads to it.
  if (!body.sound || report.has('unknown-agent')) return;
  for (const [index, name] of team.names.entries()) {
    if (speaking.has(name) || others.includes(name) || team.raw.Verifier?.AgentName === name) continue;
    report.warning(
      'unreachable-node',
      body.at('Agents', index, 'Name'),
      `the agent \`${name}\` never has a turn: no route leads to it`,
      { help: 'Add a route to it, or leave it out.' },
    );
  }
}
