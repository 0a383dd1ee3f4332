/**
 * `llm`: a model chooses the agent of every turn. Only the name of an agent of the team counts; any other answer gets a
 * correction and is asked again.
 */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { text } from '@sluice-internal/compile/document';
import { REPLY, set } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { START, edgeShape } from '@sluice-internal/compile/picture';
import { badTurns, addBadTurn, siteOf, type Site } from '../bad-turn.ts';
import { agentShape, agentShapes } from '../drawing.ts';
import { exhausted, part, type Lowering } from '../lowering.ts';
import { model } from '../schema/agents.ts';
import type { Team } from '../model.ts';
import { BAD, MATCHED, HISTORY, NOTE, OUTPUT, TURNS, fenced } from '../slots.ts';
import { addTermination, demandTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';
import { addAsk, chooserDef, hasTwin, reserve, roster } from './chooser.ts';
import { lacking, strategy } from './strategy.ts';

const SELECTOR = 'selector';
const RECENT = 30;

const DEFAULT_PROMPT = `You decide who of a team works next. The agents:
{{$agents}}

The conversation so far:
{{$history}}

Who should go on? Answer with the name of one agent and nothing else.`;

export const llm = strategy({
  type: 'llm',
  fields: () => ({
    Model: model.optional().describe('Of `llm`: the model that chooses.'),
    Prompt: text()
      .optional()
      .describe('Of `llm`: the prompt. `{{$agents}}` and `{{$history}}` are filled in. Default: a built-in prompt.'),
  }),
  read({ Model, Prompt }, reading, team) {
    if (Model === undefined) return lacking(reading, 'llm', 'Model');
    reserve(reading, team, SELECTOR);
    demandTermination(reading, team, team.names);
    return { Model, Prompt };
  },
  asks: ({ Model }, team) => ({ agents: [chooserDef(team, SELECTOR, Model, '')] }),
  lower: (l, { Prompt }) => lowerLlm(l, Prompt),
  draw: (_, team) => ({
    nodes: [START, agentShape(SELECTOR, SELECTOR, SELECTOR), ...agentShapes(team)],
    edges: [
      edgeShape(START.id, SELECTOR),
      ...team.names.flatMap((agent) => [edgeShape(SELECTOR, agent, agent), edgeShape(agent, SELECTOR, null, true)]),
    ],
  }),
});

function lowerLlm(l: Lowering, prompt: string | undefined): NodeId {
  const { builder, team } = l;
  const ask = builder.fresh(SELECTOR);
  const site: Site = { agent: SELECTOR, hint: SELECTOR, origin: SELECTOR, again: ask, limit: badTurns(l) };
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
    when: `size(${MATCHED}) == 1 && ${MATCHED}[0] == ${quote(name)}`,
    to: addSpeaker(l, name, ask),
  }));
  const judged = l.kit.pick(part(site, 'judged'), cases, wrong);
  const twins = team.names.filter((name) => hasTwin(name, team));
  const names = literal(team.names.filter((name) => !twins.includes(name)));
  const plain = `${REPLY}.text.replace("\\"", "").replace("\`", "").replace("'", "")`;
  const bare = `cel.bind(t, trim(${plain}), t.endsWith(".") ? t.substring(0, size(t) - 1) : t)`;
  const exact = `${literal(twins)}.filter(n, lines(t).exists(line, trim(line) == n))`;
  const matched = `cel.bind(t, ${bare}, alone(t, ${names})${twins.length === 0 ? '' : ` + ${exact}`})`;
  const match = l.kit.set(part(site, 'match'), [set(MATCHED, matched)], judged);
  const meter = l.kit.visits('selections', l.turnsMax * badTurns(l), builder.failedEnd(OUTPUT), 'selections');
  const asked = filled(prompt ?? DEFAULT_PROMPT, team);
  const again = `${NOTE} == null ? ${asked} : text(${asked}, "\\n\\n", ${NOTE})`;
  addAsk(l, {
    id: ask,
    agent: SELECTOR,
    hint: SELECTOR,
    input: { prompt: again },
    charges: [meter],
    samples: team.names,
    next: match,
  });
  return ask;
}

function addSpeaker(l: Lowering, agent: string, ask: NodeId): NodeId {
  const site = siteOf(l, agent);
  const room = [{ when: `size(${TURNS}) >= ${l.turnsMax}`, to: exhausted(l) }];
  const next = addTermination(l, site, l.kit.pick(part(site, 'room'), room, ask));
  return addTurnOf(l, agent, next, { opening: [set(BAD, '0'), set(NOTE, 'null')] });
}

/** Fills in the placeholders once; text that they bring in is not expanded again. */
function filled(prompt: string, team: Team): Expr {
  const parts = prompt.split(/(\{\{\s*\$(?:agents|history)\s*\}\})/).map((part) => {
    if (/^\{\{\s*\$agents\s*\}\}$/.test(part)) return quote(roster(team));
    return /^\{\{\s*\$history\s*\}\}$/.test(part) ? recent(team) : quote(part);
  });
  return `text(${parts.filter((part) => part !== '""').join(', ')})`;
}

/** The latest messages as text; those of remote agents are marked as data. */
export function recent({ members }: Team): Expr {
  const remote = [...members.values()].filter(({ isRemote }) => isRemote).map(({ name }) => name);
  const shown =
    remote.length === 0
      ? 'm.content'
      : `(m.author in ${literal(remote)} ? ${fenced('m.author', 'm.content')} : m.content)`;
  return `join(tail(${HISTORY}, ${RECENT}).map(m, text(m.author, ": ", ${shown})), "\\n")`;
}
