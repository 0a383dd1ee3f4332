/** The branches of a fork, and when they are enough for it, or too few. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { ForkNode, NodeId, Outcome, Slots } from '@sluice-internal/kernel/ir';
import { evaluate, holds } from './values.ts';

/** How a branch ended. */
export type Ended = Outcome & { readonly slots: Slots };

export function verdict({ over, need, eager }: ForkNode, outcomes: readonly (Ended | null)[]): 'met' | 'short' | null {
  const left = outcomes.filter((each) => each === null).length;
  const ok = outcomes.filter((each) => each?.state === 'completed').length;
  const enough = need === 'all' ? outcomes.length : need;
  if (ok >= enough && (need !== 'all' || left === 0)) return 'met';
  const spent = outcomes.some(isSpent);
  return left === 0 || (spent && 'each' in over) || (eager && !spent && ok + left < enough) ? 'short' : null;
}

/** True for a branch that a budget stopped. The calls of the others end. */
export function isSpent(ended: Ended | null): boolean {
  return ended?.error?.type === 'BudgetError';
}

export function branchesOf({ over }: ForkNode, slots: Slots): readonly { name: string; to: NodeId; adds?: Slots }[] {
  if ('heads' in over) return over.heads.filter(({ when = 'true' }) => holds(when, slots));
  const items = evaluate(over.each, slots);
  if (!Array.isArray(items)) throw new Error('not a list');
  const adds = (item: Json, index: number): Slots => ({ [over.as]: item, [`${over.as}_index`]: index });
  return items.map((item: Json, index) => ({ name: String(index), to: over.head, adds: adds(item, index) }));
}
