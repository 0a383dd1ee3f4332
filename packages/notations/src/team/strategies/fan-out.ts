/**
 * Branches that run at the same time. Each has one turn and sees the history as it was at the fan-out. Their outputs are
 * merged into one message.
 */
import type * as z from 'zod';
import type { Expr, ForkNode, NodeId } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, set } from '@sluice-internal/compile/lower';
import { list, name, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Range } from '@sluice-internal/compile/source';
import { badTurns } from '../bad-turn.ts';
import { exhausted, openRules, part, success, type Lowering, type Place } from '../lowering.ts';
import { BRANCHES, ENDED, OUTPUT, REJECTED, MESSAGE, TURNS, tell } from '../slots.ts';
import { addTermination } from '../termination.ts';
import { addTeamTurn } from '../turn.ts';
import { spelt } from '../spelling.ts';

export function addFanOut(l: Lowering, fanOut: Merge): NodeId {
  const { hint, origin, branches } = fanOut;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  const inside = branchOf(l, fanOut);
  const heads = branches.map(({ name, agent, at }, index) => {
    const place = `${hint}.${name}.${index}`;
    const begin = l.builder.fresh(place);
    const site = { agent, hint: place, origin: name, again: begin, limit: badTurns(l) };
    const finished = addTermination(inside, site, done);
    return {
      name,
      to: addTeamTurn(l, { agent, hint: place, origin: name, enters: name, begin, at, branch: true, next: finished }),
    };
  });
  return addBranches(l, { hint, origin }, heads, addMerge(l, fanOut));
}

/** Runs the branches, if enough turns are left for all of them. A missing branch would leave a gap in the merge. */
export function addBranches(l: Lowering, place: Place, heads: readonly Head[], joined: NodeId): NodeId {
  const fork = addFork(l, place, { heads }, 0, addEnding(l, place, joined));
  if (l.meter === null) return fork;
  const isTooMany = `size(${TURNS}) + ${heads.length} > ${l.turnsMax}`;
  return l.kit.when(part(place, 'room'), isTooMany, exhausted(l), fork);
}

interface Head {
  readonly name: string;
  readonly to: NodeId;
}

/** The first branch that fails stops the others and the session. */
export function addFork(l: Lowering, place: Place, over: ForkNode['over'], widthMax: number, next: NodeId): NodeId {
  const ended = openRules(l).length === 0 ? [] : [{ slot: ENDED, mode: 'any' } as const];
  return l.kit.fork(part(place, 'fork'), {
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
    fail: l.kit.branchError(part(place, 'blame'), BRANCHES, l.builder.failedEnd(OUTPUT)),
  });
}

/** Lowering inside a branch: a matched termination ends the branch and is remembered. */
export function branchOf(l: Lowering, place: Place): Lowering {
  if (openRules(l).length === 0) return l;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  return { ...l, ended: l.kit.set(part(place, 'matched'), [set(ENDED, 'true')], done) };
}

/** After the join: ends the session if a branch matched a termination. The other branches finish their turns first. */
function addEnding(l: Lowering, place: Place, next: NodeId): NodeId {
  if (openRules(l).length === 0) return next;
  const end = l.kit.set(part(place, 'over'), [set(MESSAGE, lastMessage())], success(l));
  return l.kit.when(part(place, 'ended'), `${ENDED} == true`, end, next);
}

/** The last message in the order of the branches, without branches that the cap stopped. */
export function lastMessage(): Expr {
  return `cel.bind(had, ${BRANCHES}.filter(b, b.code != "BUDGET_EXHAUSTED"), size(had) == 0 ? ${MESSAGE} : had[size(had) - 1].output)`;
}

export const mergeSchema = record(() => ({
  Strategy: spelt('Strategy').default('union').describe('How the outputs of the branches become one.'),
  Agent: name().optional().describe('The agent that merges; needed for ranked and semantic_diff.'),
  ConflictResolution: list(spelt('Strategy'))
    .default([])
    .describe('Tried in order if the strategy reaches no decision.'),
}));
type RawMerge = z.output<typeof mergeSchema>;

interface Branch {
  /** The entry in `path`. */
  readonly name: string;
  readonly agent: string;
  readonly at?: Range;
}

interface Merge extends Place {
  readonly branches: readonly Branch[];
  readonly merge: RawMerge | null;
  readonly next: NodeId;
}

const MERGED = 'merged';

/** `Strategy` is tried first, then `ConflictResolution` in order; if none decides, the outputs are concatenated. */
function addMerge(l: Lowering, { hint, origin, branches, merge, next }: Merge): NodeId {
  const place = { hint, origin };
  const names = branches.map(({ agent }) => agent);
  const inject = (how: string): NodeId =>
    l.kit.set(
      { hint: `${hint}.merged:${how}`, origin: `merge:${how}` },
      [tell(`text(${quote(`[parallel merge — ${how}]\n`)}, ${MERGED})`, null), set(MESSAGE, MERGED)],
      next,
    );
  const all = set(MERGED, names.length === 1 ? `${BRANCHES}[0].output` : blocks(names));
  const union = l.kit.set(part(place, 'union'), [all], inject('union'));
  if (names.length === 1) return union;
  const order = [merge?.Strategy ?? 'union', ...(merge?.ConflictResolution ?? [])];
  let otherwise = union;
  for (const strategy of order.toReversed())
    otherwise = addStrategy(l, strategy, { place, names, agent: merge?.Agent ?? '', inject, union, otherwise });
  return otherwise;
}

interface Attempt {
  readonly place: Place;
  readonly names: readonly string[];
  readonly agent: string;
  readonly inject: (how: string) => NodeId;
  readonly union: NodeId;
  readonly otherwise: NodeId;
}

function addStrategy(l: Lowering, strategy: RawMerge['Strategy'], attempt: Attempt): NodeId {
  const { place, inject, otherwise } = attempt;
  const choose = (test: string, when: Expr, chosen: Expr): NodeId => {
    const take = l.kit.set(part(place, strategy), [set(MERGED, chosen)], inject(strategy));
    return l.kit.when(part(place, test), when, take, otherwise);
  };
  switch (strategy) {
    case 'union':
      return attempt.union;
    case 'consensus': {
      const agrees = `${BRANCHES}.all(b, ${statement('b')} == ${statement(`${BRANCHES}[0]`)})`;
      return choose('agree', agrees, `${BRANCHES}[0].output`);
    }
    case 'vote': {
      const winner = `majority(${BRANCHES}.map(b, ${statement('b')}))`;
      const chosen = `cel.bind(w, ${winner}, ${BRANCHES}.filter(b, ${statement('b')} == w)[0].output)`;
      return choose('elect', `${winner} != null`, chosen);
    }
    case 'ranked':
    case 'semantic_diff':
      return addJudge(l, strategy, attempt);
  }
}

/** The statement of a branch is its last line; letter case is ignored. */
function statement(branch: Expr): Expr {
  return `lower(lastLine(${branch}.output))`;
}

/** The outputs in order, each under the name of its agent. */
function blocks(names: readonly string[]): Expr {
  const parts = names.flatMap((name, index) => [
    quote(`${index === 0 ? '' : '\n\n'}--- ${name} ---\n`),
    `${BRANCHES}[${index}].output`,
  ]);
  return `text(${parts.join(', ')})`;
}

const ASKED = {
  ranked:
    'Several agents answered the same task. Choose the best answer, or put the best together out of them, and give it and nothing else.',
  semantic_diff:
    'Several agents answered the same task. Find where they agree, settle where they differ, and give the one reconciled result and nothing else.',
};

/** An agent merges: it sees the task and the outputs, and its message is the result. An empty message decides nothing. */
function addJudge(l: Lowering, strategy: keyof typeof ASKED, attempt: Attempt): NodeId {
  const { place, names, agent, inject, otherwise } = attempt;
  const own = part(place, strategy);
  const take = l.kit.set(own, [set(MERGED, MESSAGE)], inject(strategy));
  const judged = l.kit.when(part(own, 'judged'), `trim(${MESSAGE}) != ""`, take, otherwise);
  const prompt = `text(${quote(`${ASKED[strategy]}\n\nThe task:\n`)}, input, "\\n\\n", ${blocks(names)})`;
  const fail = l.kit.set(part(own, 'undecided'), [set('error', 'null')], otherwise);
  return addTeamTurn(l, {
    ...part(own, 'judge'),
    agent,
    input: { prompt },
    shared: false,
    counts: false,
    entry: 'none',
    next: judged,
    fail,
  });
}
