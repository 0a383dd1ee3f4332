/** A person reviews the first plan: approves it, edits it, or sends it back with a remark. */
import type { Expr, NodeId, Write } from '../../../../../ir/nodes.ts';
import type { Json } from '../../../../../expr/json.ts';
import { set, setField } from '../../../../lower/kit.ts';
import type { Lowering } from '../../lowering.ts';
import { ORIENTATION } from './tools.ts';
import { ANSWER, NOTE, OUTPUT, lined, remark } from '../../slots.ts';

/** An edited plan: text, a list of steps, or an object like the manager's. */
const STEPS: readonly Json[] = [
  { type: 'string', minLength: 1 },
  { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
];
const PLAN: Json = {
  anyOf: [...STEPS, { type: 'object', properties: { plan: { anyOf: [...STEPS] } }, required: ['plan'] }],
};

export function addReview(l: Lowering, plan: string, again: NodeId, next: NodeId): NodeId {
  const edit = `${ANSWER}.edit`;
  const given = (field: string, otherwise: Expr): Write => {
    const value = `type(${edit}) == map && ${edit}.${field} != null ? ${edit}.${field} : ${otherwise}`;
    return setField(plan, [field], value);
  };
  const steps = lined(`(type(${edit}) == map ? ${edit}.plan : ${edit})`);
  const writes: readonly Write[] = [
    given('task_summary', `${plan}.task_summary`),
    given('known_facts', `${plan}.known_facts`),
    // The next step belonged to the plan that was edited.
    given('next_step', 'null'),
    setField(plan, ['plan'], steps),
  ];
  const edited = l.kit.set({ hint: 'review.edited', origin: ORIENTATION }, writes, next);
  const back = l.kit.set(
    { hint: 'review.back', origin: 'correction:plan_review' },
    [set(NOTE, `text("The plan was sent back.", ${remark()}, " Make a better one.")`)],
    again,
  );
  const decided = l.kit.pick(
    { hint: 'review.decided', origin: ORIENTATION },
    [
      { when: `${ANSWER}.choice == "approve"`, to: next },
      { when: `${ANSWER}.choice == "edit"`, to: edited },
    ],
    back,
  );
  return l.kit.ask(
    { hint: 'review', origin: ORIENTATION },
    {
      about: 'plan_review',
      askedBy: 'manager',
      choices: ['approve', { name: 'edit', edit: PLAN, needs: 'edit' }, 'reject', { name: 'respond', needs: 'text' }],
      onExpiry: 'reject',
      message: `text("The manager's plan:\\n", ${plan}.plan)`,
      payload: { plan },
      code: 'CONFIRM_REQUIRED',
      purpose: 'plan_review',
      row: 'high_impact_mutation',
      into: ANSWER,
      next: decided,
      fail: l.builder.failedEnd(OUTPUT),
    },
  );
}
