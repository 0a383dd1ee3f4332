/** A person looks at the first plan: lets it pass, changes it, or sends it back with what to mend. */
import type { Expr, NodeId, Write } from '../../../../ir/nodes.ts';
import type { Json } from '../../../../expr/json.ts';
import { addLet, addPick, addQuestion } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { ORIENTATION } from './magentic-tools.ts';
import { ANSWER, NOTE, lined, remark, set } from '../slots.ts';

/** A plan as somebody may write it: as text, as a list of steps, or as the manager gives it. */
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
    return { slot: plan, path: [field], mode: 'set', value };
  };
  const steps = lined(`(type(${edit}) == map ? ${edit}.plan : ${edit})`);
  const writes: readonly Write[] = [
    given('task_summary', `${plan}.task_summary`),
    given('known_facts', `${plan}.known_facts`),
    // The manager's next step was one of its own plan.
    given('next_step', 'null'),
    { slot: plan, path: ['plan'], mode: 'set', value: steps },
  ];
  const edited = addLet(l, 'review.edited', ORIENTATION, writes, next);
  const back = addLet(
    l,
    'review.back',
    'correction:plan_review',
    [set(NOTE, `text("The plan was sent back.", ${remark()}, " Make a better one.")`)],
    again,
  );
  const decided = addPick(
    l,
    'review.decided',
    ORIENTATION,
    [
      { when: `${ANSWER}.choice == "approve"`, to: next },
      { when: `${ANSWER}.choice == "edit"`, to: edited },
    ],
    back,
  );
  return addQuestion(l, {
    hint: 'review',
    origin: ORIENTATION,
    about: 'plan_review',
    askedBy: 'manager',
    choices: ['approve', 'edit', 'reject', 'respond'],
    edits: { edit: PLAN },
    wants: { edit: 'edit', respond: 'text' },
    message: `text("The manager's plan:\\n", ${plan}.plan)`,
    payload: { plan },
    code: 'CONFIRM_REQUIRED',
    into: ANSWER,
    next: decided,
  });
}
