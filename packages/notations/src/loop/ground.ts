/**
 * Phases 10 and 11. `observations` holds the raw results of tools. The values of every text
 * for a person are compared with them: answers, questions and results of steps.
 */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import {
  BIND_CHECK,
  GROUNDING_CHECK,
  OBSERVATIONS,
  REFERS,
  REPLY,
  allEntries,
  groundingInput,
  set,
  setField,
} from '@sluice-internal/compile/lower';
import { literal } from '@sluice-internal/compile/expressions';
import { toolsOf } from './intake.ts';
import { idOf, part, phase, type Lowering } from './nodes.ts';
import { MISSPELT, SPELT, STATED, STATED_ANSWER } from './findings.ts';
import {
  ANSWER,
  FINISHED,
  GOAL,
  MARKS,
  MISSED,
  RECALLED,
  REPAIRS,
  RESULTS,
  PARSED_REPLY,
  STATUS,
  TASK,
  USER_ANSWERS,
  TURN,
  UNBOUND,
  VIOLATION,
} from './state.ts';

/** This round called tools. */
const ACTED = `size(${REPLY}.toolCalls) > 0`;

export function addGrounding(l: Lowering): void {
  const validate = idOf(l, 'validation_check');
  const structured = l.kit.set(part('state_update', 'answer.structured'), [set(ANSWER, STATED_ANSWER)], validate);
  const plain = l.kit.set(part('state_update', 'answer.plain'), [set(ANSWER, PARSED_REPLY)], validate);
  const stored = l.kit.pick(
    part('state_update', 'answer'),
    [
      { when: `${STATUS} == "acting"`, to: validate },
      { when: STATED, to: structured },
    ],
    plain,
  );
  const status = `${ACTED} ? "acting" : ${STATED} ? ${PARSED_REPLY}.status : "complete"`;
  const update = [
    set(TASK, `{"version": ${TASK}.version + 1, "finished": size(${FINISHED})}`),
    set(STATUS, status),
    set(REPAIRS, `${ACTED} && size(${MISSED}) == 0 ? 0 : ${REPAIRS}`),
  ];
  const updated = l.kit.set(phase(l, 'state_update'), update, stored);
  const judged = addGroundingCheck(l, {
    hint: 'grounding.judge',
    origin: 'observation_grounding',
    what: 'the answer',
    reply: PARSED_REPLY,
    given: [],
    into: VIOLATION,
    marks: true,
    next: updated,
  });
  const respelt = l.kit.set(
    part('observation_grounding', 'reply.respelt'),
    [{ ...set(PARSED_REPLY, SPELT), path: ['status'] }],
    judged,
  );
  const look = l.kit.pick(
    part('observation_grounding', 'grounding.look'),
    [
      { when: ACTED, to: updated },
      { when: MISSPELT, to: respelt },
    ],
    judged,
  );
  const missed = `${OBSERVATIONS}.filter(o, o.turn == ${TURN} && !o.ok).map(o, o.id)`;
  const ground = l.kit.set(
    part('observation_grounding', 'grounding.reply'),
    [{ slot: PARSED_REPLY, mode: 'reply', value: `${REPLY}.text` }, set(MISSED, missed), set(VIOLATION, 'null')],
    look,
  );
  addBinding(l, ground);
}

/** Fills in the references of a reply to observations. Where values must be bound, literals are refused. */
function addBinding(l: Lowering, next: NodeId): void {
  const { values } = l.loop.grounding;
  const origin = 'observation_grounding';
  const bind = l.kit.check(part(origin, 'bind'), {
    check: BIND_CHECK,
    input: {
      text: `${REPLY}.text`,
      observations: OBSERVATIONS,
      bound: String(values === 'bound'),
      userTexts: `[${GOAL}, input, ${USER_ANSWERS}]`,
    },
    writes: [setField(REPLY, ['text'], 'it.text'), set(UNBOUND, 'it.ok == true ? null : it.reason')],
    next,
    fail: l.kit.set(part(origin, 'bind.broken'), [set('error', 'null')], next),
  });
  const when = values === 'bound' ? `!(${ACTED})` : `!(${ACTED}) && ${REFERS}`;
  const look = l.kit.when(part(origin, 'bind.look'), when, bind, next);
  l.kit.set({ id: idOf(l, 'observation_grounding'), origin }, [set(UNBOUND, 'null')], look);
}

export interface Checked {
  readonly hint: string;
  readonly origin: string;
  readonly what: string;
  readonly reply: Expr;
  /** Texts that it may rely on, besides the goal and the results so far. */
  readonly given: readonly Expr[];
  /** The slot that holds the violation afterwards, or null. */
  readonly into: string;
  /** The findings are kept as marks of the reply. */
  readonly marks?: boolean;
  readonly next: NodeId;
}

/** A check that cannot be performed counts as a violation. */
export function addGroundingCheck(
  l: Lowering,
  { hint, origin, what, reply, given, into, marks, next }: Checked,
): NodeId {
  const { loop } = l;
  const broken = l.kit.set(
    part(origin, `${hint}.broken`),
    [set(into, `text("the grounding of ${what} cannot be checked: ", error.message)`), set('error', 'null')],
    next,
  );
  const checked = {
    what,
    tools: toolsOf(loop),
    reply,
    given: [
      GOAL,
      'input',
      `${RESULTS}.map(r, r.answer)`,
      literal([...loop.criteria]),
      ...(loop.memory === null ? [] : [allEntries(RECALLED)]),
      ...given,
    ],
    userAnswers: USER_ANSWERS,
  };
  return l.kit.check(
    { hint, origin },
    {
      check: GROUNDING_CHECK,
      input: groundingInput(checked, loop.grounding),
      writes: [
        set(into, 'it.ok == true ? null : it.reason'),
        ...(marks === true ? [set(MARKS, 'it.ok == true ? [] : it.findings')] : []),
      ],
      next,
      fail: broken,
    },
  );
}
