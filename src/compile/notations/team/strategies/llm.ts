/**
 * `llm`: a model says before every turn whose it is. Its answer is an input like any other: only the name of an agent of
 * the team counts, and for anything else it is told so and asked again.
 */
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { REPLY } from '../../../lower/agent-turn/slots.ts';
import { literal, quote } from '../../../expressions/cel-text.ts';
import { addBadTurn } from '../bad-turn.ts';
import { addAsk, hasTwin, roster } from './chooser.ts';
import { BAD_TURNS } from './keyword.ts';
import { addLet, addPick, exhausted } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { BAD, HEARD, HISTORY, NOTE, TURNS, set } from '../slots.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';

export const SELECTOR = 'selector';
const RECENT = 30;

const DEFAULT_PROMPT = `You decide who of a team works next. The agents:
{{$agents}}

The conversation so far:
{{$history}}

Who should go on? Answer with the name of one agent and nothing else.`;

export function lowerLlm(l: Lowering, prompt: string | undefined): NodeId {
  const { builder, team } = l;
  const ask = builder.fresh(SELECTOR);
  const site = { agent: SELECTOR, hint: SELECTOR, origin: SELECTOR, again: ask, limit: BAD_TURNS };
  const wrong = addBadTurn(l, site, {
    what: 'no name of an agent',
    corrections: [
      {
        type: 'unknown_agent',
        text: `text("SELECTION ERROR: ", ${REPLY}.text, ${quote(` is no agent of this team. Answer with one of: ${team.names.join(', ')}.`)})`,
      },
    ],
    shared: false,
  });
  const cases = team.names.map((name) => ({
    when: `size(${HEARD}) == 1 && ${HEARD}[0] == ${quote(name)}`,
    to: addSpeaker(l, name, ask),
  }));
  const judged = addPick(l, `${SELECTOR}.judged`, SELECTOR, cases, wrong);
  const twins = team.names.filter((name) => hasTwin(name, team));
  const names = literal(team.names.filter((name) => !twins.includes(name)));
  const plain = `${REPLY}.text.replace("\\"", "").replace("\`", "").replace("'", "")`;
  const bare = `cel.bind(t, trim(${plain}), t.endsWith(".") ? t.substring(0, size(t) - 1) : t)`;
  const exact = `${literal(twins)}.filter(n, lines(t).exists(line, trim(line) == n))`;
  const heard = `cel.bind(t, ${bare}, alone(t, ${names})${twins.length === 0 ? '' : ` + ${exact}`})`;
  const listen = addLet(l, `${SELECTOR}.listen`, SELECTOR, [set(HEARD, heard)], judged);
  const meter = builder.meter('selections', {
    unit: 'visits',
    max: l.turnsMax * BAD_TURNS,
    over: builder.failedEnd('said'),
    label: 'selections',
  });
  const asked = filled(prompt ?? DEFAULT_PROMPT, roster(team));
  const again = `${NOTE} == null ? ${asked} : text(${asked}, "\\n\\n", ${NOTE})`;
  addAsk(l, { id: ask, agent: SELECTOR, hint: SELECTOR, input: { prompt: again }, charges: [meter], next: listen });
  return ask;
}

function addSpeaker(l: Lowering, agent: string, ask: NodeId): NodeId {
  const begin = l.builder.idOf(agent);
  const site = { agent, hint: agent, origin: agent, again: begin, limit: BAD_TURNS };
  const room = [{ when: `size(${TURNS}) >= ${l.turnsMax}`, to: exhausted(l) }];
  const next = addTermination(l, site, addPick(l, `${agent}.room`, agent, room, ask));
  return addTurnOf(l, agent, next, [set(BAD, '0'), set(NOTE, 'null')]);
}

/** The placeholders are filled in once; what comes in by them is not looked at again. */
export function filled(prompt: string, agents: string): Expr {
  const parts = prompt.split(/(\{\{\s*\$(?:agents|history)\s*\}\})/).map((part) => {
    if (/^\{\{\s*\$agents\s*\}\}$/.test(part)) return quote(agents);
    return /^\{\{\s*\$history\s*\}\}$/.test(part) ? recent() : quote(part);
  });
  return `text(${parts.filter((part) => part !== '""').join(', ')})`;
}

/** What was said last, as text. */
export function recent(): Expr {
  return `join(tail(${HISTORY}, ${RECENT}).map(m, text(m.author, ": ", m.content)), "\\n")`;
}
