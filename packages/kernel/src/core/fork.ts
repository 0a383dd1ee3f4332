/**
 * `fork` runs branches over fixed heads or over a list, each with slots of its own. The join continues when enough of them
 * succeeded, and fails when that is no longer possible (L12). Each dropped effect is recorded.
 */
import { codeOfFailure } from '../ir/codes.ts';
import { isForkDue } from './due.ts';
import { canDrop } from './drops.ts';
import { authorOf, route } from './failure.ts';
import { holds } from './guard.ts';
import type { Json } from '../expr/json.ts';
import type { Claim, ForkNode } from '../ir/nodes.ts';
import { declaredOf } from './declared.ts';
import { isBudgetError } from './meters.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import type { Branches, ErrorRecord, EventBody, ForkState, RunState, Thread } from '../ir/events.ts';
import { resolve } from './slots.ts';
import { branchName, isBelow } from './state.ts';

export function fork(program: Program, state: RunState, thread: Thread, node: ForkNode): readonly EventBody[] {
  const { branches: all, visits: charge } = declaredOf(program, node);
  const events: EventBody[] = [];
  const branches = all ?? branchesOf(program, thread, node, events);
  const total = 'heads' in branches ? branches.heads.length : branches.count;
  // There are too few branches for the join, so none is started.
  const isImpossible = node.eager && node.need !== 'all' && total < node.need;
  return [
    ...events,
    {
      type: 'thread.forked',
      thread: thread.id,
      key: `${thread.id}#${thread.acts}`,
      node: thread.at,
      branches,
      started: isImpossible ? 0 : firstBranches(program, thread, node, total),
      deadline: node.timeoutMs === null ? null : state.now + node.timeoutMs,
      exceptPeople: node.exceptPeople,
      into: node.into,
      gather: node.gather,
      charge,
    },
  ];
}

export function join(program: Program, state: RunState, thread: Thread, fork: ForkState): readonly EventBody[] {
  const node = nodeAt(program, fork.node) as ForkNode;
  const need = node.need === 'all' ? fork.total : node.need;
  const { spent, left: open } = stillToEnd(fork);
  const left = spent === undefined ? open : open - withdrawn(program, state, thread, fork);
  if (fork.ok >= need && (node.need !== 'all' || left === 0)) return joined(state, thread, 'met', node.next);
  const late = isForkDue(fork, state.now) && left > 0;
  // A used-up budget lets calls that are under way end.
  const gaveUp = node.eager && spent === undefined && fork.ok + left < need;
  if (!late && left > 0 && !gaveUp) return nextBranch(program, thread, node, fork);
  const error = joinError(node, fork, late);
  const to = route({ program, thread }, node, error);
  if (late) return joined(state, thread, 'late', to, { error });
  const unstarted = left === 0 && fork.done < fork.total ? spent : undefined;
  return joined(state, thread, 'short', to, { error, unstarted });
}

/** The branches that may still end. After an item that a budget stopped, no further one starts. */
function stillToEnd(fork: ForkState): { readonly spent: ErrorRecord | undefined; readonly left: number } {
  const spent = fork.outcomes.map((outcome) => outcome?.error).find(isBudgetError);
  const startsNoMore = spent !== undefined && 'each' in fork.branches;
  return { spent, left: (startsNoMore ? fork.started : fork.total) - fork.done };
}

/**
 * The calls of a reply that come after one that no longer fits, and that are still being judged: they are not made, so the join does
 * not wait for the questions about them.
 */
function withdrawn(program: Program, state: RunState, { id, acts }: Thread, { outcomes, started }: ForkState): number {
  let count = 0;
  for (let index = outcomes.findIndex((outcome) => isBudgetError(outcome?.error)) + 1; index < started; index++) {
    const branch = state.threads.get(`${id}:${acts - 1}.${index}`);
    if (branch?.doing.is !== 'waiting' || branch.doing.control !== true) continue;
    const node = nodeAt(program, branch.at);
    if (node.op === 'do' && node.controls?.inOrder === true) count += 1;
  }
  return count;
}

/** Starts one more branch if the width and the claimed resources allow it. */
function nextBranch(program: Program, thread: Thread, node: ForkNode, fork: ForkState): readonly EventBody[] {
  const running = fork.started - fork.done;
  if (stillToEnd(fork).left === running) return [];
  if (node.widthMax !== 0 && running >= node.widthMax) return [];
  if (!isFree(program, thread, node, fork.items ?? [], fork.started, (index) => fork.outcomes[index] === null))
    return [];
  return [{ type: 'thread.started', thread: thread.id, index: fork.started }];
}

/** The number of branches that start at once. Branches start in order, so a branch that waits holds back the later ones. */
function firstBranches(program: Program, thread: Thread, node: ForkNode, total: number): number {
  const most = node.widthMax === 0 ? total : Math.min(node.widthMax, total);
  if (!('each' in node.over) || node.over.claims === undefined) return most;
  const items = program.evaluate(node.over.each, thread.slots) as readonly Json[];
  let started = 0;
  while (started < most && isFree(program, thread, node, items, started, () => true)) started += 1;
  return started;
}

/** True if no running branch before this one uses its resource, or if all of them only read it. */
function isFree(
  program: Program,
  thread: Thread,
  { over }: ForkNode,
  items: readonly Json[],
  index: number,
  runs: (index: number) => boolean,
): boolean {
  if (!('each' in over) || over.claims === undefined) return true;
  const { as, claims } = over;
  const claimOf = (item: Json): Claim | undefined => {
    const key = program.evaluate(claims.key, { ...thread.slots, [as]: item });
    return typeof key === 'string' && Object.hasOwn(claims.of, key) ? claims.of[key] : undefined;
  };
  const wanted = claimOf(items[index] ?? null);
  if (wanted === undefined) return true;
  return items.slice(0, index).every((item, before) => {
    if (!runs(before)) return true;
    const claimed = claimOf(item);
    return claimed?.resource !== wanted.resource || (claimed.shared && wanted.shared);
  });
}

function joined(
  state: RunState,
  thread: Thread,
  why: 'met' | 'short' | 'late',
  to: string,
  { error, unstarted }: { readonly error?: ErrorRecord | undefined; readonly unstarted?: ErrorRecord | undefined } = {},
): readonly EventBody[] {
  const events: EventBody[] = [];
  for (const pending of state.pending.values())
    if (isBelow(pending.thread, thread) && canDrop(pending))
      events.push({ type: 'effect.dropped', key: pending.key, why: 'join' });
  const stopped = unstarted === undefined ? {} : { unstarted };
  events.push({ type: 'fork.joined', thread: thread.id, met: why === 'met', why, error, ...stopped, to });
  return events;
}

/** A branch whose guard cannot be evaluated is not started. That goes to `events`, and so does a text compared as a number. */
function branchesOf(program: Program, thread: Thread, node: ForkNode, events: EventBody[]): Branches {
  if ('heads' in node.over) {
    const heads = node.over.heads.filter(
      ({ when }, index) => when === undefined || holds(program, thread, when, index, events),
    );
    return { heads: heads.map(({ name, to }) => ({ name, to })) };
  }
  const each = program.record(node.over.each, thread.slots);
  const items = resolve(each, thread.slots, null);
  if (!Array.isArray(items))
    throw new Error(`\`${node.label.name}\` needs a list to run over, but \`${node.over.each}\` is not one`);
  return { each, count: items.length, as: node.over.as, to: node.over.head };
}

function joinError(node: ForkNode, fork: ForkState, late: boolean): ErrorRecord {
  const failures = fork.outcomes.flatMap((outcome, index) =>
    outcome === null || outcome.state === 'completed' ? [] : [{ outcome, name: branchName(fork, index) }],
  );
  const first = failures[0]?.outcome;
  const reasons = failures.map(
    ({ outcome, name }) =>
      `${name}: ${outcome.error?.type ?? outcome.code}: ${outcome.error?.message ?? 'ended without success'}`,
  );
  if (late) {
    const isOne = 'heads' in node.over && node.over.heads.length === 1;
    const reason = isOne
      ? `\`${node.label.name}\` did not finish in time`
      : `the join of \`${node.label.name}\` was late`;
    const message = [reason, ...reasons].join('; ');
    const code = codeOfFailure('timeout', 1);
    return { class: 'timeout', type: 'TimeoutError', message, node: authorOf(node), code };
  }
  const message =
    reasons.length > 0 ? reasons.join('; ') : `\`${node.label.name}\` needed more branches than it started`;
  return {
    class: first?.error?.class ?? 'semantic',
    type: first?.error?.type ?? 'JoinError',
    message,
    node: authorOf(node),
    code: first?.code ?? codeOfFailure('semantic', 1),
  };
}
