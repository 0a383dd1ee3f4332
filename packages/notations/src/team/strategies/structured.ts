/** `structured`: fields of the JSON in an agent's reply decide the next agent. */
import type * as z from 'zod';
import type { NodeId } from '@sluice-internal/kernel/ir';
import { agentName, list, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import { START, edgeShape } from '@sluice-internal/compile/picture';
import { checkCondition, conditionOf, replyFor, wordsOf } from '../conditions.ts';
import { condition } from '../schema/conditions.ts';
import { badTurns, addBadTurn, siteOf, type Site } from '../bad-turn.ts';
import { agentShapes } from '../drawing.ts';
import { part, type Lowering } from '../lowering.ts';
import type { Reading } from '../model.ts';
import { BAD, MESSAGE, clean } from '../slots.ts';
import { addTermination, demandTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';
import { sourceAgents } from '../schema/gates.ts';
import { defaultAgent } from './keyword.ts';
import { firstOf, mayTake, speakersFrom, warnOfSilent } from './routing.ts';
import { lackingEntries, strategy } from './strategy.ts';

const route = record(() => ({
  Agent: agentName().describe('The agent of the next turn.'),
  Condition: condition.describe('The condition on the JSON in the reply.'),
  SourceAgents: sourceAgents(),
}));

type RawRoute = z.output<typeof route>;

export const structured = strategy({
  type: 'structured',
  fields: () => ({
    DefaultAgent: defaultAgent(),
    StructuredRoutes: list(route).optional().describe('Of `structured`: the routes.'),
  }),
  read({ DefaultAgent, StructuredRoutes: routes = [] }, reading, team) {
    checkRoutes(routes, reading);
    const first = firstOf(reading, team, DefaultAgent);
    if (first === null || routes.length === 0) return null;
    const speaking = speakersFrom(first, (agent) =>
      routes.filter((each) => mayTake(each, agent)).map(({ Agent }) => Agent),
    );
    demandTermination(reading, team, speaking);
    warnOfSilent(reading, team, speaking, []);
    return { routes, first, speaking };
  },
  lower(l, { routes, first, speaking }) {
    for (const agent of l.team.names) if (speaking.has(agent)) addSpeaker(l, routes, agent);
    return l.builder.idOf(first);
  },
  draw({ routes, first, speaking }, team) {
    const place = (agent: string): number => team.names.indexOf(agent);
    const edges = routes.flatMap((each) =>
      [...speaking]
        .filter((agent) => mayTake(each, agent))
        .map((agent) => edgeShape(agent, each.Agent, wordsOf(each.Condition), place(each.Agent) <= place(agent))),
    );
    return { nodes: [START, ...agentShapes(team, speaking)], edges: [edgeShape(START.id, first), ...edges] };
  },
});

function checkRoutes(routes: readonly RawRoute[], reading: Reading): void {
  if (routes.length === 0) lackingEntries(reading, 'structured', 'StructuredRoutes');
  for (const [index, { Agent, SourceAgents, Condition }] of routes.entries()) {
    const path: Path = ['Selection', 'StructuredRoutes', index];
    reading.agent(Agent, [...path, 'Agent']);
    reading.agents(SourceAgents, [...path, 'SourceAgents']);
    checkCondition(Condition, [...path, 'Condition'], reading);
  }
}

function addSpeaker(l: Lowering, routes: readonly RawRoute[], agent: string): void {
  const site = siteOf(l, agent);
  const own = routes.filter((each) => mayTake(each, agent));
  const cases = own.map((each) => {
    const onward = addTermination(l, site, l.builder.idOf(each.Agent));
    return {
      when: conditionOf(each.Condition),
      to: l.kit.set(part(site, `fire:${each.Agent}`), clean(each.Agent !== site.agent), onward),
    };
  });
  const otherwise = addTermination(l, site, addCorrection(l, site, own));
  const routed = l.kit.pick(part(site, 'route'), cases, otherwise);
  const samples = own.map(({ Condition }) => replyFor(Condition));
  addTurnOf(l, agent, routed, { entry: 'route', readsObject: own.length > 0, samples });
}

function addCorrection(l: Lowering, site: Site, own: readonly RawRoute[]): NodeId {
  const fields = [...new Set(own.map(({ Condition }) => Condition.Field))];
  const needs =
    fields.length === 0
      ? 'No route leads on from here.'
      : `Answer with one JSON object that has ${fields.map((field) => `\`${field}\``).join(' or ')}, with a value that a route expects.`;
  const head = `"STRUCTURED ROUTING ERROR (", ${BAD} + 1, ${quote(`/${badTurns(l)}): `)}`;
  return addBadTurn(l, site, {
    what: 'no JSON that a route expects',
    corrections: [
      {
        type: 'structured_not_json',
        when: `jsonIn(${MESSAGE}) == null`,
        text: `text(${head}, ${quote(`the answer is not a JSON object. ${needs}`)})`,
      },
      { type: 'structured_no_match', text: `text(${head}, ${quote(`no condition holds. ${needs}`)})` },
    ],
  });
}
