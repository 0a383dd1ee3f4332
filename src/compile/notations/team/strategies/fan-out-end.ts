/**
 * A termination that one of several branches matches: the others finish their turns, and the session ends where all come
 * together, with the last message in the order of the branches.
 */
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { addLet, addPick, success } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { BRANCHES, ENDED, SAID, set } from '../slots.ts';
import { openRules } from '../termination.ts';

/** How what happens in a branch is lowered. */
export function branchOf(l: Lowering, hint: string, origin: string): Lowering {
  if (openRules(l).length === 0) return l;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  return { ...l, ended: addLet(l, `${hint}.matched`, origin, [set(ENDED, 'true')], done) };
}

export function addEnding(l: Lowering, hint: string, origin: string, next: NodeId): NodeId {
  if (openRules(l).length === 0) return next;
  const end = addLet(l, `${hint}.over`, origin, [set(SAID, lastSaid())], success(l));
  return addPick(l, `${hint}.ended`, origin, [{ when: `${ENDED} == true`, to: end }], next);
}

/** What was said last, in the order of the branches. One whose turn the cap did not allow said nothing. */
export function lastSaid(): Expr {
  return `cel.bind(had, ${BRANCHES}.filter(b, b.code != "BUDGET_EXHAUSTED"), size(had) == 0 ? ${SAID} : had[size(had) - 1].output)`;
}
