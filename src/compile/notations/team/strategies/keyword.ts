/**
 * `keyword`: what an agent says on a line of its own decides who is next. All routes are open at once; which agent may take
 * which is settled here, so that at run time an agent's signal can only lead where its own routes lead.
 */
import type { NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import type { Path } from '../../../source/located.ts';
import { addBadTurn } from '../bad-turn.ts';
import type { Site } from '../bad-turn.ts';
import { choiceOf, heard, silenceOf } from '../corrections.ts';
import { addGate } from '../gate.ts';
import { addLet, addPick, member, success } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { Check } from '../model.ts';
import type { RawRoute } from '../schema/routes.ts';
import { HEARD, clean, set } from '../slots.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';

export const BAD_TURNS = 3;

export interface Route {
  readonly raw: RawRoute;
  readonly checks: readonly Check[];
  readonly path: Path;
}

export function lowerKeyword(
  l: Lowering,
  routes: readonly Route[],
  first: string,
  speaking: ReadonlySet<string>,
): NodeId {
  for (const agent of l.team.names) if (speaking.has(agent)) addSpeaker(l, routes, agent, first);
  return l.builder.idOf(first);
}

export function isTerminal({ Agent, SourceAgents }: RawRoute): boolean {
  return SourceAgents?.includes(Agent) === true;
}

export function mayTake({ SourceAgents }: Pick<RawRoute, 'SourceAgents'>, agent: string): boolean {
  return SourceAgents === undefined || SourceAgents.includes(agent);
}

function addSpeaker(l: Lowering, routes: readonly Route[], agent: string, fallback: string): void {
  const begin = l.builder.idOf(agent);
  const site: Site = { agent, hint: agent, origin: agent, again: begin, limit: BAD_TURNS };
  const words = distinct(routes.map(({ raw }) => raw.Keyword));
  const own = distinct(routes.filter(({ raw }) => mayTake(raw, agent)).map(({ raw }) => raw.Keyword));
  const choice = choiceOf('keyword', own);
  const cases = own.map((word) => {
    const route = routes.find(({ raw }) => same(raw.Keyword, word) && mayTake(raw, agent)) as Route;
    const said = words.find((each) => same(each, word)) ?? word;
    return { when: `${HEARD}[0] == ${quote(said)}`, to: addRoute(l, site, route, routes.indexOf(route)) };
  });
  const none = addTermination(l, site, addSilence(l, site, choice, fallback));
  const many = addBadTurn(l, site, {
    what: 'several keywords in one message',
    corrections: [
      {
        type: 'multi_keyword',
        text: `text("MULTI-KEYWORD: you said ", join(${HEARD}, " and "), ${quote(`. Say exactly one. ${choice}`)})`,
      },
    ],
  });
  const routed = addPick(
    l,
    `${agent}.route`,
    agent,
    [{ when: `size(${HEARD}) == 0`, to: none }, { when: `size(${HEARD}) > 1`, to: many }, ...cases],
    addForeign(l, site, choice),
  );
  const listen = addLet(l, `${agent}.listen`, agent, [set(HEARD, heard(words, false))], routed);
  addTurnOf(l, agent, listen);
}

function addRoute(l: Lowering, site: Site, { raw, checks }: Route, index: number): NodeId {
  const passed = new Set(checks.map(({ name }) => name));
  const onward = isTerminal(raw) ? success(l) : addTermination(l, site, l.builder.idOf(raw.Agent), passed);
  const fire = addLet(l, `${site.agent}.fire:${raw.Keyword}`, site.agent, clean(), onward);
  return addGate(l, {
    site,
    key: `route${index}`,
    what: `\`${raw.Keyword}\``,
    checks,
    approval: raw.RequireHumanApproval
      ? { about: raw.Agent, message: `${site.agent} says \`${raw.Keyword}\`: ${raw.Agent} would go on.` }
      : null,
    recovery: raw.RecoveryAgent ?? null,
    pass: fire,
  });
}

/** What was said is a keyword, but none of this agent's. */
function addForeign(l: Lowering, site: Site, choice: string): NodeId {
  return addBadTurn(l, site, {
    what: 'the keyword of another role',
    corrections: [
      {
        type: 'wrong_keyword',
        text: `text("WRONG KEYWORD: \`", ${HEARD}[0], ${quote(`\` is not yours to say. ${choice}`)})`,
      },
    ],
  });
}

function addSilence(l: Lowering, site: Site, choice: string, fallback: string): NodeId {
  const generic = { type: 'no_keyword_generic', text: quote(`No handoff keyword emitted by ${site.agent}. ${choice}`) };
  return addBadTurn(l, site, {
    what: 'no keyword',
    ...silenceOf(member(l, site.agent), generic, choice),
    next: l.builder.idOf(fallback),
  });
}

export function distinct(words: readonly string[]): readonly string[] {
  const seen = new Map<string, string>();
  for (const word of words) if (!seen.has(word.trim().toLowerCase())) seen.set(word.trim().toLowerCase(), word);
  return [...seen.values()];
}

export function same(a: string, b: string): boolean {
  return a.trim().toLowerCase() === b.trim().toLowerCase();
}
