/**
 * Phases 10 and 11. What tools did is in `observations`, raw and before anybody interprets it. Whoever says something to
 * somebody, be it an answer, a question, the result of a step or a verdict, may say only what is there.
 */
import type { Expr, NodeId } from '../../../ir/nodes.ts';
import { OBSERVATIONS, REPLY } from '../../lower/agent-turn/slots.ts';
import { literal } from '../../expressions/cel-text.ts';
import { groundingEffect } from '../../lower/agent-turn/grounding-check.ts';
import { toolsOf } from './intake.ts';
import { addLet, addPick, idOf, NO_RETRY } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { MISSPELT, SPELT, STATED, STATED_ANSWER } from './reply.ts';
import {
  ANSWER,
  CLAIMED,
  FINISHED,
  GOAL,
  MISSED,
  REPAIRS,
  RESULTS,
  SAID,
  STATUS,
  TASK,
  TOLD,
  TURN,
  UNFOUNDED,
  VIOLATION,
  set,
} from './slots.ts';

/** Whether this round called tools. */
export const ACTED = `size(${REPLY}.toolCalls) > 0`;

export function addGrounding(l: Lowering): void {
  const { builder } = l;
  const validate = idOf(l, 'validation_check');
  const structured = addLet(
    l,
    builder.fresh('answer.structured'),
    'state_update',
    [set(ANSWER, STATED_ANSWER)],
    validate,
  );
  const plain = addLet(l, builder.fresh('answer.plain'), 'state_update', [set(ANSWER, SAID)], validate);
  const stored = addPick(
    l,
    builder.fresh('answer'),
    'state_update',
    [
      { when: `${STATUS} == "acting"`, to: validate },
      { when: STATED, to: structured },
    ],
    plain,
  );
  const status = `${ACTED} ? "acting" : ${STATED} ? ${SAID}.status : "complete"`;
  const update = [
    set(TASK, `{"version": ${TASK}.version + 1, "finished": size(${FINISHED})}`),
    set(STATUS, status),
    set(REPAIRS, `${ACTED} && size(${MISSED}) == 0 ? 0 : ${REPAIRS}`),
  ];
  const updated = addLet(l, idOf(l, 'state_update'), 'state_update', update, stored);
  const judged = addGroundingCheck(l, {
    hint: 'grounding.judge',
    origin: 'observation_grounding',
    what: 'the answer',
    said: SAID,
    given: [],
    into: VIOLATION,
    next: updated,
  });
  const respelt = addLet(
    l,
    builder.fresh('said.respelt'),
    'observation_grounding',
    [{ ...set(SAID, SPELT), path: ['status'] }],
    judged,
  );
  const look = addPick(
    l,
    builder.fresh('grounding.look'),
    'observation_grounding',
    [
      { when: ACTED, to: updated },
      { when: MISSPELT, to: respelt },
    ],
    judged,
  );
  const missed = `${OBSERVATIONS}.filter(o, o.turn == ${TURN} && !o.ok).map(o, o.id)`;
  addLet(
    l,
    idOf(l, 'observation_grounding'),
    'observation_grounding',
    [{ slot: SAID, mode: 'reply', value: `${REPLY}.text` }, set(MISSED, missed), set(VIOLATION, 'null')],
    look,
  );
}

export interface Checked {
  readonly hint: string;
  readonly origin: string;
  readonly what: string;
  readonly said: Expr;
  /** What it may go by beside the goal and the results so far. */
  readonly given: readonly Expr[];
  /** The slot that has the violation afterwards, or null. */
  readonly into: string;
  readonly next: NodeId;
}

/** A check that cannot be made is not passed. */
export function addGroundingCheck(l: Lowering, { hint, origin, what, said, given, into, next }: Checked): NodeId {
  const { builder, loop, at } = l;
  const broken = addLet(
    l,
    builder.fresh(`${hint}.broken`),
    origin,
    [set(into, `text("it cannot be told whether ${what} is grounded: ", error.message)`), set('error', 'null')],
    next,
  );
  const uttered = {
    what,
    tools: toolsOf(loop),
    said,
    given: [GOAL, 'input', `${RESULTS}.map(r, r.answer)`, literal([...loop.criteria]), ...given],
    heard: TOLD,
    claimed: CLAIMED,
  };
  return builder.add(
    builder.fresh(hint),
    {
      op: 'do',
      label: { name: origin },
      effect: groundingEffect(uttered, loop.grounding),
      writes: [set(into, 'it.ok == true ? null : it.reason'), set(CLAIMED, `${CLAIMED} + it.claimed`)],
      timeoutMs: null,
      retry: NO_RETRY,
      next,
      failed: [],
      fail: broken,
    },
    at,
  );
}

/** A verdict is about the answer, and may say what that says. */
export function addVerdictCheck(l: Lowering, slot: string, next: NodeId): NodeId {
  return addGroundingCheck(l, {
    hint: `${slot}.grounding`,
    origin: 'validation_check',
    what: 'the verdict',
    said: slot,
    given: [ANSWER],
    into: UNFOUNDED,
    next,
  });
}
