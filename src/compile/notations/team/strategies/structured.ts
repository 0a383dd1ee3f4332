/** `structured`: fields of the JSON that an agent answers with decide who is next. */
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { addBadTurn } from '../bad-turn.ts';
import type { Site } from '../bad-turn.ts';
import { BAD_TURNS } from './keyword.ts';
import { addLet, addPick } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { RawCondition, RawStructuredRoute } from '../schema/routes.ts';
import { BAD, SAID, clean } from '../slots.ts';
import { addTermination } from '../termination.ts';
import { addTurnOf } from '../turn.ts';

export function lowerStructured(
  l: Lowering,
  routes: readonly RawStructuredRoute[],
  first: string,
  speaking: ReadonlySet<string>,
): NodeId {
  for (const agent of l.team.names) if (speaking.has(agent)) addSpeaker(l, routes, agent);
  return l.builder.idOf(first);
}

function addSpeaker(l: Lowering, routes: readonly RawStructuredRoute[], agent: string): void {
  const begin = l.builder.idOf(agent);
  const site: Site = { agent, hint: agent, origin: agent, again: begin, limit: BAD_TURNS };
  const own = routes.filter(({ SourceAgents }) => SourceAgents === undefined || SourceAgents.includes(agent));
  const cases = own.map((route) => {
    const onward = addTermination(l, site, l.builder.idOf(route.Agent));
    return {
      when: conditionOf(route.Condition),
      to: addLet(l, `${agent}.fire:${route.Agent}`, agent, clean(), onward),
    };
  });
  const routed = addPick(l, `${agent}.route`, agent, cases, addTermination(l, site, addCorrection(l, site, own)));
  addTurnOf(l, agent, routed);
}

/** The first operator that is set decides, in the order in which they are documented. Numbers are compared as written. */
export function conditionOf({ Field, Is, IsNot, Contains, Exists }: RawCondition): Expr {
  const is = (test: Expr): Expr => `cel.bind(v, ${fieldIn(`exactIn(${SAID})`, Field)}, ${test})`;
  if (Is !== undefined) return is(`v != null && lower(text(v)) == lower(${quote(Is)})`);
  // A reply that is no object has no field that could differ.
  if (IsNot !== undefined)
    return `jsonIn(${SAID}) != null && ${is(`v == null || lower(text(v)) != lower(${quote(IsNot)})`)}`;
  if (Contains !== undefined) return is(`v != null && containsIgnoreCase(text(v), ${quote(Contains)})`);
  return Exists === false ? `jsonIn(${SAID}) != null && ${is('v == null')}` : is('v != null');
}

/** A field below an expression; dots lead into objects. */
export function fieldIn(of: Expr, field: string): Expr {
  return (
    of +
    field
      .split('.')
      .map((key) => `[${quote(key)}]`)
      .join('')
  );
}

function addCorrection(l: Lowering, site: Site, own: readonly RawStructuredRoute[]): NodeId {
  const fields = [...new Set(own.map(({ Condition }) => Condition.Field))];
  const needs =
    fields.length === 0
      ? 'No route leads on from here.'
      : `Answer with one JSON object that has ${fields.map((field) => `\`${field}\``).join(' or ')}, with a value that a route expects.`;
  const head = `"STRUCTURED ROUTING ERROR (", ${BAD} + 1, ${quote(`/${BAD_TURNS}): `)}`;
  return addBadTurn(l, site, {
    what: 'no JSON that a route expects',
    corrections: [
      {
        type: 'structured_not_json',
        when: `jsonIn(${SAID}) == null`,
        text: `text(${head}, ${quote(`the answer is not a JSON object. ${needs}`)})`,
      },
      { type: 'structured_no_match', text: `text(${head}, ${quote(`no condition holds. ${needs}`)})` },
    ],
  });
}
