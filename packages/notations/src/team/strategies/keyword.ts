/**
 * `keyword`: a keyword in an agent's message decides the next agent. All routes are open at once. The compiler assigns the
 * routes to the agents, so a keyword of an agent takes only routes of that agent.
 */
import type * as z from 'zod';
import type { NodeId } from '@sluice-internal/kernel/ir';
import { agentName, list, once, oneOf, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { set } from '@sluice-internal/compile/lower';
import { addBadTurn, silentSite, siteOf, type Site } from '../bad-turn.ts';
import { checkKey, readChecks, readContracts, readRunGate } from '../checks.ts';
import { choiceOf, matchedPhrases, severalOf, silenceOf } from '../corrections.ts';
import { agentShapes, guarded, type Drawing } from '../drawing.ts';
import { addGate } from '../gate.ts';
import { addOpenGates, type Way } from '../open-gates.ts';
import { gateOf, member, part, success, type Lowering } from '../lowering.ts';
import type { Check, Reading, Team } from '../model.ts';
import { routeFields, sourceAgents } from '../schema/gates.ts';
import { ASKED, ENTRY, MATCHED, clean, leave, tell } from '../slots.ts';
import { APPROVED, addTermination, demandTermination } from '../termination.ts';
import { addTurnOf, messagesWith } from '../turn.ts';
import { distinct, firstOf, mayTake, same, speakersFrom, warnOfShadows, warnOfSilent } from './routing.ts';
import { lackingEntries, strategy } from './strategy.ts';

export const defaultAgent = once(() =>
  agentName()
    .optional()
    .describe('The agent of the first turn, and of the turn after one without a route. Default: the first agent.'),
);

const route = record(() => ({
  ...routeFields(),
  SourceAgents: sourceAgents(),
}));
type RawRoute = z.output<typeof route>;

interface Route {
  readonly raw: RawRoute;
  readonly checks: readonly Check[];
  readonly path: Path;
}
interface Model {
  readonly routes: readonly Route[];
  readonly first: string;
  /** The agents that can get a turn. */
  readonly speaking: ReadonlySet<string>;
  /** True if one of them can end the session by its own route. */
  readonly ends: boolean;
  /** True if the author of a message without a keyword has the next turn, once. */
  readonly asksAuthor: boolean;
}

export const keyword = strategy({
  type: 'keyword',
  fields: () => ({
    DefaultAgent: defaultAgent(),
    OnNoKeyword: oneOf(['author', 'default'])
      .optional()
      .describe(
        'The next turn after a message without a keyword. `author`: its author, once, then `DefaultAgent`. Default: `default`.',
      ),
    Routes: list(route).optional().describe('Of `keyword`: the routes.'),
  }),
  read({ DefaultAgent, OnNoKeyword, Routes = [] }, reading, team): Model | null {
    const shared = Routes.map((raw, index): Written => ({ raw, path: ['Selection', 'Routes', index] }));
    const routes = readRoutes([...shared, ...agentRoutes(reading)], reading);
    const first = firstOf(reading, team, DefaultAgent);
    if (first === null || routes.length === 0) return null;
    const speaking = speakersFrom(first, (agent) =>
      routes.filter(({ raw }) => mayTake(raw, agent) && !isTerminal(raw)).map(({ raw }) => raw.Agent),
    );
    const ends = routes.some(({ raw }) => isTerminal(raw) && [...speaking].some((agent) => mayTake(raw, agent)));
    if (!ends) demandTermination(reading, team, speaking);
    const recovery = routes.flatMap(({ raw }) => raw.RecoveryAgent ?? []);
    warnOfSilent(reading, team, speaking, recovery);
    return { routes, first, speaking, ends, asksAuthor: OnNoKeyword === 'author' };
  },
  lower(l, model) {
    for (const agent of l.team.names) if (model.speaking.has(agent)) addSpeaker(l, model, agent);
    return l.builder.idOf(model.first);
  },
  gates: ({ routes, speaking }) =>
    routes.flatMap(({ raw, checks }) => {
      const agents = [...speaking].filter((agent) => mayTake(raw, agent));
      return gateOf(raw.Keyword, agents, checks, raw.RequireHumanApproval);
    }),
  draw,
});

type Written = Pick<Route, 'raw' | 'path'>;

/** Routes that are written on an agent: only that agent may take them. */
function agentRoutes({ body }: Reading): readonly Written[] {
  return body.value.Agents.flatMap(({ Name, Routes = [] }, at) =>
    Routes.map((each, index) => ({ raw: { ...each, SourceAgents: [Name] }, path: ['Agents', at, 'Routes', index] })),
  );
}

function readRoutes(written: readonly Written[], reading: Reading): readonly Route[] {
  if (written.length === 0) lackingEntries(reading, 'keyword', 'Routes');
  const routes = written.map(({ raw: each, path }): Route => {
    reading.agent(each.Agent, [...path, 'Agent']);
    reading.agents(each.SourceAgents, [...path, 'SourceAgents']);
    if (each.RecoveryAgent !== undefined) reading.agent(each.RecoveryAgent, [...path, 'RecoveryAgent']);
    return {
      raw: each,
      checks: [
        ...readChecks(each, path, reading),
        ...readContracts(each, path, reading),
        ...readRunGate(each, reading),
      ],
      path,
    };
  });
  warnOfCovered(routes, reading);
  const words = routes.map(({ raw: { Keyword }, path }) => [Keyword, [...path, 'Keyword']] as const);
  warnOfShadows(words, reading);
  return routes;
}

/** Warns of a route all of whose agents take an earlier route with the same keyword. */
function warnOfCovered(routes: readonly Route[], { report, at, names }: Reading): void {
  for (const [index, { raw, path }] of routes.entries()) {
    const earlier = routes.slice(0, index).filter((each) => same(each.raw.Keyword, raw.Keyword));
    const isLeft = (agent: string): boolean => mayTake(raw, agent) && !earlier.some((each) => mayTake(each.raw, agent));
    if (earlier.length === 0 || [...names.all].some(isLeft)) continue;
    report.warning(
      'unreachable-route',
      at(...path, 'Keyword'),
      `the route \`${raw.Keyword}\` to \`${raw.Agent}\` is never taken: an earlier route with the same keyword always is`,
      { help: 'Leave it out, or give the two different `SourceAgents`.' },
    );
  }
}

/** An agent that routes to itself ends the session. */
function isTerminal({ Agent, SourceAgents }: RawRoute): boolean {
  return SourceAgents?.includes(Agent) === true;
}

function addSpeaker(l: Lowering, model: Model, agent: string): void {
  const { routes } = model;
  const site = siteOf(l, agent);
  const words = distinct(routes.map(({ raw }) => raw.Keyword));
  const own = distinct(routes.filter(({ raw }) => mayTake(raw, agent)).map(({ raw }) => raw.Keyword));
  const choice = choiceOf('keyword', own);
  const cases = own.map((word) => {
    const found = routes.find(({ raw }) => same(raw.Keyword, word) && mayTake(raw, agent)) as Route;
    const spelt = words.find((each) => same(each, word)) ?? word;
    return { when: `${MATCHED}[0] == ${quote(spelt)}`, to: addRoute(l, site, found, routes.indexOf(found)) };
  });
  const none = addTermination(l, site, addSilence(l, site, model));
  const many = addBadTurn(l, site, {
    what: 'several keywords in one message',
    corrections: [severalOf('keyword', choice)],
  });
  const routed = l.kit.pick(
    part(site, 'route'),
    [{ when: `size(${MATCHED}) == 0`, to: none }, { when: `size(${MATCHED}) > 1`, to: many }, ...cases],
    addForeign(l, site, choice),
  );
  const match = l.kit.set(part(site, 'match'), [set(MATCHED, matchedPhrases(words, false))], routed);
  addTurnOf(l, agent, match, { entry: 'route', words, samples: messagesWith(own) });
}

function addRoute(l: Lowering, site: Site, { raw, checks }: Route, index: number): NodeId {
  const passed = new Set([...checks.map(checkKey), ...(raw.RequireHumanApproval ? [APPROVED] : [])]);
  const follows = isTerminal(raw) ? 'the session would end' : `${raw.Agent} would go on`;
  const onward = isTerminal(raw) ? success(l) : addTermination(l, site, l.builder.idOf(raw.Agent), passed);
  return addGate(l, {
    site,
    key: `route${index}`,
    what: `\`${raw.Keyword}\``,
    checks,
    approval: raw.RequireHumanApproval
      ? { about: raw.Agent, message: `${site.agent} says \`${raw.Keyword}\`: ${follows}.` }
      : null,
    recovery: raw.RecoveryAgent ?? null,
    pass: l.kit.set(part(site, `fire:${raw.Keyword}`), clean(raw.Agent !== site.agent), onward),
  });
}

/** The keyword belongs to another agent's routes. */
function addForeign(l: Lowering, site: Site, choice: string): NodeId {
  return addBadTurn(l, site, {
    what: 'the keyword of another role',
    corrections: [
      {
        type: 'wrong_keyword',
        text: `text("WRONG KEYWORD: \`", ${MATCHED}[0], ${quote(`\` is not yours to say. ${choice}`)})`,
      },
    ],
  });
}

/**
 * No keyword: the correction goes to the author, and `DefaultAgent` has the next turn. With `OnNoKeyword: author` the author has
 * it first, once in each entry.
 */
function addSilence(l: Lowering, site: Site, { routes, first, asksAuthor }: Model): NodeId {
  const { agent } = site;
  const own = routes.filter(({ raw }) => mayTake(raw, agent));
  const ways = own.map(({ raw, checks }): Way => ({ word: raw.Keyword, what: `\`${raw.Keyword}\``, checks }));
  const choice = choiceOf('keyword', distinct(own.map(({ raw }) => raw.Keyword)));
  const what = 'no keyword';
  const generic = (then: string) => ({
    type: 'no_keyword_generic',
    text: quote(`No handoff keyword emitted by ${agent}.${then === '' ? '' : ` ${then}`}`),
  });
  const again = { what, ...silenceOf(member(l, agent), generic(choice), { choice, ways }) };
  const strict = silentSite(l, site);
  if (first === agent) return addOpenGates(l, site, ways, addBadTurn(l, strict, again));
  const others = distinct(routes.filter(({ raw }) => mayTake(raw, first)).map(({ raw }) => raw.Keyword));
  const words = { choice: '', ways, stays: false };
  const passedOn = addBadTurn(l, strict, {
    what,
    ...silenceOf(member(l, agent), generic(`${first} has the next turn.`), words),
    writes: [leave(), tell(quote(`You have the next turn. ${choiceOf('keyword', others)}`), first)],
    next: l.builder.idOf(first),
  });
  if (!asksAuthor) return addOpenGates(l, site, ways, passedOn);
  const asked = addBadTurn(l, strict, { ...again, writes: [set(ASKED, ENTRY)] });
  const decided = l.kit.when(part(site, 'asked'), `${ASKED} != null && ${ASKED} == ${ENTRY}`, passedOn, asked);
  return addOpenGates(l, site, ways, decided);
}

function draw({ routes, first, speaking, ends }: Model, team: Team): Drawing {
  const place = (agent: string): number => team.names.indexOf(agent);
  const edges = routes.flatMap(({ raw, checks }) =>
    [...speaking]
      .filter((agent) => mayTake(raw, agent))
      .map((agent) => {
        const [to, back] = isTerminal(raw) ? [END.id, false] : [raw.Agent, place(raw.Agent) <= place(agent)];
        return guarded(edgeShape(agent, to, raw.Keyword, back), checks, raw.RequireHumanApproval);
      }),
  );
  return {
    nodes: [START, ...agentShapes(team, speaking), ...(ends ? [END] : [])],
    edges: [edgeShape(START.id, first), ...edges],
  };
}
