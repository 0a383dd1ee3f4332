/**
 * Branches that run at the same time. Each has one turn and sees the history as it was at the fan-out. Their outputs are
 * merged into one message.
 */
import type { Expr, ForkNode, NodeId } from '../../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../../lower/agent-turn/turn.ts';
import { badTurns } from '../bad-turn.ts';
import { exhausted, success } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import { set } from '../../../lower/kit.ts';
import { BRANCHES, ENDED, OUTPUT, REJECTED, SAID, TURNS } from '../slots.ts';
import { addTermination, openRules } from '../termination.ts';
import { addTeamTurn } from '../turn.ts';
import { addMerge } from './merge.ts';
import type { Merge } from './merge.ts';

export function addFanOut(l: Lowering, { hint, origin, branches, merge, next }: Merge): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const inside = branchOf(l, hint, origin);
  const heads = branches.map(({ name, agent, at }, index) => {
    const place = `${hint}.${name}.${index}`;
    const begin = l.builder.fresh(place);
    const site = { agent, hint: place, origin: name, again: begin, limit: badTurns(l) };
    const spoken = addTermination(inside, site, done);
    const turn = { agent, hint: place, origin: name, enters: name, begin, next: spoken };
    return { name, to: addTeamTurn(l, { ...turn, ...(at === undefined ? {} : { at }) }) };
  });
  const merged = addMerge(l, { hint, origin, branches, merge, next });
  const fork = addFork(l, hint, origin, { heads }, 0, addEnding(l, hint, origin, merged));
  if (l.meter === null) return fork;
  // All branches run or none: a missing branch would leave a gap in the merge.
  return l.kit.pick(
    { hint: `${hint}.room`, origin },
    [{ when: `size(${TURNS}) + ${branches.length} > ${l.turnsMax}`, to: exhausted(l) }],
    fork,
  );
}

/** The first branch that fails stops the others and the session. */
export function addFork(
  l: Lowering,
  hint: string,
  origin: string,
  over: ForkNode['over'],
  widthMax: number,
  next: NodeId,
): NodeId {
  const ended = openRules(l).length === 0 ? [] : [{ slot: ENDED, mode: 'any' } as const];
  return l.kit.fork(
    { hint: `${hint}.fork`, origin },
    {
      over,
      widthMax,
      eager: true,
      into: BRANCHES,
      gather: [
        { slot: OBSERVATIONS, mode: 'concat' },
        { slot: TURNS, mode: 'concat' },
        { slot: REJECTED, mode: 'last' },
        ...ended,
      ],
      next,
      fail: l.kit.branchError({ hint: `${hint}.blame`, origin }, BRANCHES, l.builder.failedEnd(OUTPUT)),
    },
  );
}

/** Lowering inside a branch: a matched termination ends the branch and is remembered. */
export function branchOf(l: Lowering, hint: string, origin: string): Lowering {
  if (openRules(l).length === 0) return l;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  return { ...l, ended: l.kit.set({ hint: `${hint}.matched`, origin }, [set(ENDED, 'true')], done) };
}

/** After the join: ends the session if a branch matched a termination. The other branches finish their turns first. */
export function addEnding(l: Lowering, hint: string, origin: string, next: NodeId): NodeId {
  if (openRules(l).length === 0) return next;
  const end = l.kit.set({ hint: `${hint}.over`, origin }, [set(SAID, lastSaid())], success(l));
  return l.kit.pick({ hint: `${hint}.ended`, origin }, [{ when: `${ENDED} == true`, to: end }], next);
}

/** The last message in the order of the branches, without branches that the cap stopped. */
export function lastSaid(): Expr {
  return `cel.bind(had, ${BRANCHES}.filter(b, b.code != "BUDGET_EXHAUSTED"), size(had) == 0 ? ${SAID} : had[size(had) - 1].output)`;
}
