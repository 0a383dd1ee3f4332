/**
 * Branches that run at the same time, each for one turn and with the history as it was when they parted. What they hand
 * back is one block: the branches' outputs, merged.
 */
import type { ForkNode, NodeId } from '../../../core/ir.ts';
import { OBSERVATIONS } from '../../agent-slots.ts';
import { addBlame } from '../../blame.ts';
import { addPick, exhausted } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { addMerge } from './merge.ts';
import type { Branch } from './merge.ts';
import type { RawMerge } from './schema-statemachine.ts';
import { SAID, TURNS } from './slots.ts';
import { addTeamTurn } from './turn.ts';

export interface FanOut {
  readonly hint: string;
  readonly origin: string;
  readonly branches: readonly Branch[];
  readonly merge: RawMerge | null;
  readonly next: NodeId;
}

export const BRANCHES = 'branches';

export function addFanOut(l: Lowering, { hint, origin, branches, merge, next }: FanOut): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const heads = branches.map(({ name, agent, at }, index) => ({
    name,
    to: addTeamTurn(l, {
      agent,
      hint: `${hint}.${name}.${index}`,
      origin: name,
      enters: name,
      ...(at === undefined ? {} : { at }),
      next: done,
    }),
  }));
  const merged = addMerge(l, { hint, origin, branches, merge, next });
  const fork = addFork(l, hint, origin, { heads }, 0, merged);
  if (l.meter === null) return fork;
  // All of them or none: a branch that is turned away would leave a hole in what is merged.
  return addPick(
    l,
    `${hint}.room`,
    origin,
    [{ when: `size(${TURNS}) + ${branches.length} > ${l.turnsMax}`, to: exhausted(l) }],
    fork,
  );
}

/** The first branch that fails stops the others, and the session with them. */
export function addFork(
  l: Lowering,
  hint: string,
  origin: string,
  over: ForkNode['over'],
  widthMax: number,
  next: NodeId,
): NodeId {
  return l.builder.add(l.builder.fresh(`${hint}.fork`), {
    op: 'fork',
    origin,
    over,
    widthMax,
    need: 'all',
    eager: true,
    timeoutMs: null,
    into: BRANCHES,
    gather: [
      { slot: OBSERVATIONS, mode: 'concat' },
      { slot: TURNS, mode: 'concat' },
    ],
    next,
    failed: [],
    fail: addBlame(l.builder, hint, origin, BRANCHES, l.builder.failedEnd(SAID)),
  });
}
