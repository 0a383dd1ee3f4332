/** A person looks at the first plan: lets it pass, changes it, or sends it back with what to mend. */
import type { NodeId } from '../../../core/ir.ts';
import { addLet, addPick, addQuestion } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { ORIENTATION } from './magentic-tools.ts';
import { ANSWER, NOTE, set } from './slots.ts';

export function addReview(l: Lowering, plan: string, again: NodeId, next: NodeId): NodeId {
  const edited = addLet(
    l,
    'review.edited',
    ORIENTATION,
    [set(plan, `${ANSWER}.edit == null ? ${plan} : ${ANSWER}.edit`)],
    next,
  );
  const back = addLet(
    l,
    'review.back',
    'correction:plan_review',
    [set(NOTE, `text("The plan was sent back. ", ${ANSWER}.text, " Make a better one.")`)],
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
    message: `text("The manager's plan:\\n", ${plan}.plan)`,
    payload: { plan },
    code: 'CONFIRM_REQUIRED',
    into: ANSWER,
    next: decided,
  });
}
