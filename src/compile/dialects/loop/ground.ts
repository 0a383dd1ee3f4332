/**
 * Phases 10 and 11. What tools did is in `observations`, raw and before anybody interprets it. An answer may say only what
 * is there: ids that do not exist, tools that were not called and words that claim an action which nothing shows are violations.
 */
import type { Expr } from '../../../core/ir.ts';
import { OBSERVATIONS, REPLY } from '../../agent-slots.ts';
import { literal, quote } from '../../cel-text.ts';
import { toolsOf } from './intake.ts';
import { addLet, addPick, idOf } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import { actionClaims, LOOKUP_CLAIM } from './claims.ts';
import { ANSWER, FINISHED, MISSED, REPAIRS, SAID, STATUS, TASK, TURN, VIOLATION, set } from './slots.ts';
import { STATUSES } from './text.ts';

/** Whether this round called tools. */
export const ACTED = `size(${REPLY}.toolCalls) > 0`;

export function addGrounding(l: Lowering): void {
  const { builder } = l;
  const validate = idOf(l, 'validation_check');
  const structured = addLet(
    l,
    builder.fresh('answer.structured'),
    'state_update',
    [set(ANSWER, `${SAID}.answer`)],
    validate,
  );
  const plain = addLet(l, builder.fresh('answer.plain'), 'state_update', [set(ANSWER, SAID)], validate);
  const stored = addPick(
    l,
    builder.fresh('answer'),
    'state_update',
    [
      { when: `${STATUS} == "acting"`, to: validate },
      { when: `type(${SAID}) == map && ${SAID}.status != null`, to: structured },
    ],
    plain,
  );
  const status = `${ACTED} ? "acting" : type(${SAID}) == map && ${SAID}.status in ${literal([...STATUSES])} ? ${SAID}.status : "complete"`;
  const update = [
    set(TASK, `{"version": ${TASK}.version + 1, "finished": size(${FINISHED})}`),
    set(STATUS, status),
    set(REPAIRS, `${ACTED} && size(${MISSED}) == 0 ? 0 : ${REPAIRS}`),
  ];
  const updated = addLet(l, idOf(l, 'state_update'), 'state_update', update, stored);
  const judged = addLet(
    l,
    builder.fresh('grounding.judge'),
    'observation_grounding',
    [set(VIOLATION, `${ACTED} ? null : (${violation(l.loop)})`)],
    updated,
  );
  const missed = `${OBSERVATIONS}.filter(o, o.turn == ${TURN} && !o.ok).map(o, o.id)`;
  addLet(
    l,
    idOf(l, 'observation_grounding'),
    'observation_grounding',
    [{ slot: SAID, mode: 'reply', value: `${REPLY}.text` }, set(MISSED, missed)],
    judged,
  );
}

function violation(loop: Loop): Expr {
  const { grounding } = loop;
  const ids = `${OBSERVATIONS}.map(o, o.id)`;
  const cited = `type(${SAID}) == map && type(${SAID}.citations) == list`;
  const changing = toolsOf(loop).filter((name) => loop.definitions.tools[name]?.effect !== 'read');
  const rules: (readonly [Expr, Expr])[] = [];
  rules.push([
    `${cited} && ${SAID}.citations.exists(c, !(c in ${ids}))`,
    `text("the answer cites ", join(${SAID}.citations.filter(c, !(c in ${ids})).map(c, text(c)), ", "), ", which was never observed")`,
  ]);
  rules.push([
    `type(${SAID}) == map && type(${SAID}.claims) == list && ${SAID}.claims.exists(c, !${OBSERVATIONS}.exists(o, o.ok && o.tool == c.tool))`,
    `text("the answer claims ", join(${SAID}.claims.filter(c, !${OBSERVATIONS}.exists(o, o.ok && o.tool == c.tool)).map(c, text(c.tool)), ", "), ", and no observation shows that it succeeded")`,
  ]);
  if (grounding.cite) rules.push([`!(${cited}) || size(${SAID}.citations) == 0`, '"the answer cites no observation"']);
  if (grounding.claims) {
    const words = `type(${SAID}) == map ? text(${SAID}.answer) : ${SAID}`;
    for (const { pattern, tools } of actionClaims(changing))
      rules.push([
        `re(${words}, ${quote(pattern)}) && !${OBSERVATIONS}.exists(o, o.ok && o.tool in ${literal([...tools])})`,
        '"the answer says that something was done, and no observation shows it"',
      ]);
    if (toolsOf(loop).length > 0)
      rules.push([
        `re(${words}, ${quote(LOOKUP_CLAIM)}) && !${OBSERVATIONS}.exists(o, o.ok)`,
        '"the answer says that something was looked up, and no observation shows it"',
      ]);
  }
  return rules.reduceRight<Expr>((rest, [when, words]) => `${when} ? ${words} : (${rest})`, 'null');
}
