/**
 * Branches that run at the same time, each for one turn and with the history as it was when they parted. What they hand
 * back is one block: the branches' outputs, merged.
 */
import type { ForkNode, NodeId } from '../../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../../lower/agent-turn/slots.ts';
import { addBlame } from '../../../lower/blame.ts';
import { addEnding, branchOf } from './fan-out-end.ts';
import { BAD_TURNS } from './keyword.ts';
import { addPick, exhausted } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { addMerge } from './merge.ts';
import type { Branch } from './merge.ts';
import type { RawMerge } from '../schema/statemachine.ts';
import { BRANCHES, ENDED, SAID, TURNS } from '../slots.ts';
import { addTermination, openRules } from '../termination.ts';
import { addTeamTurn } from '../turn.ts';

export interface FanOut {
  readonly hint: string;
  readonly origin: string;
  readonly branches: readonly Branch[];
  readonly merge: RawMerge | null;
  readonly next: NodeId;
}

export function addFanOut(l: Lowering, { hint, origin, branches, merge, next }: FanOut): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const inside = branchOf(l, hint, origin);
  const heads = branches.map(({ name, agent, at }, index) => {
    const place = `${hint}.${name}.${index}`;
    const begin = l.builder.fresh(place);
    const site = { agent, hint: place, origin: name, again: begin, limit: BAD_TURNS };
    const spoken = addTermination(inside, site, done);
    const turn = { agent, hint: place, origin: name, enters: name, begin, next: spoken };
    return { name, to: addTeamTurn(l, { ...turn, ...(at === undefined ? {} : { at }) }) };
  });
  const merged = addMerge(l, { hint, origin, branches, merge, next });
  const fork = addFork(l, hint, origin, { heads }, 0, addEnding(l, hint, origin, merged));
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
    label: { name: origin },
    over,
    widthMax,
    need: 'all',
    eager: true,
    timeoutMs: null,
    into: BRANCHES,
    gather: [
      { slot: OBSERVATIONS, mode: 'concat' },
      { slot: TURNS, mode: 'concat' },
      ...(openRules(l).length === 0 ? [] : [{ slot: ENDED, mode: 'any' } as const]),
    ],
    next,
    failed: [],
    fail: addBlame(l.builder, hint, origin, BRANCHES, l.builder.failedEnd(SAID)),
  });
}
