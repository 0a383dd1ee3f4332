/** Shared state of lowering a team, and its ends. */
import type { MeterId, NodeId } from '@sluice-internal/kernel/ir';
import type { Builder, Kit } from '@sluice-internal/compile/lower';
import type { Path, Range } from '@sluice-internal/compile/source';
import type { Share } from '@sluice-internal/compile/graph';
import type { Check, Member, Rule, Team } from './model.ts';
import { OUTPUT, PARTIAL, MESSAGE } from './slots.ts';

/** Agent turns of a session that sets no `MaxIterations`. */
export const TURNS_DEFAULT = 100;

/** A keyword that leads through a gate, and the agents that may say it. */
export interface Gated {
  readonly keyword: string;
  readonly agents: readonly string[];
  readonly checks: readonly Check[];
  /** True if a person must approve. */
  readonly approval: boolean;
}

/** The gate of a keyword. A route without a keyword, or without anything to pass, has none. */
export function gateOf(
  keyword: string | undefined,
  agents: readonly string[],
  checks: readonly Check[],
  approval = false,
): readonly Gated[] {
  return keyword === undefined || (checks.length === 0 && !approval) ? [] : [{ keyword, agents, checks, approval }];
}

export interface Corrections {
  readonly nodes: readonly NodeId[];
  /** The node that starts the turn again. */
  readonly again: NodeId;
  /** The bad turn in a row that stops the session at the latest. */
  readonly limit: number;
}

export interface Turn {
  readonly place: string;
  readonly agent: string;
  readonly begin: NodeId;
}

/** The node of an author to which further nodes belong. Their names begin with `hint`. */
export interface Place {
  readonly hint: string;
  readonly origin: string;
}

/** The name of a further node of a place. */
export function part({ hint, origin }: Place, name: string): Place {
  return { hint: `${hint}.${name}`, origin };
}

export interface Lowering {
  readonly builder: Builder;
  readonly kit: Kit;
  readonly team: Team;
  readonly gates: readonly Gated[];
  /** The meter that every turn charges; null if the strategy itself bounds the turns. */
  readonly meter: MeterId | null;
  /** The most turns of the session. */
  readonly turnsMax: number;
  /** Prefix of the names in `path`, for a graph that runs inside a node. */
  readonly prefix: string;
  /** The corrections that lead back to a turn of the same agent, for the certificate. */
  readonly corrections: Corrections[];
  /** The turns of the main line, for the correction after the verdict on the end. */
  readonly turns: Turn[];
  /** Further limits that the expressions keep, for the certificate. */
  readonly shares: Share[];
  /** The target of a termination that matched; the end of the session unless a branch must end first. */
  readonly ended?: NodeId;
  /** True if a cap can be hit that makes the session a partial success at best. */
  readonly capped?: boolean;
  at(...path: Path): Range;
}

export function member({ team }: Lowering, name: string): Member {
  const found = team.members.get(name);
  if (found === undefined) throw new Error(`invariant: agent \`${name}\` is not in the team`);
  return found;
}

/** The end of a session that succeeded, or the verdict on it. */
export function success(l: Lowering): NodeId {
  return l.team.verifier === null ? finished(l) : END_VERDICT;
}

/** The node of the verdict on the end of a session. */
export const END_VERDICT: NodeId = '~session.verdict';

/** The end of a session that succeeded, or succeeded in part. */
export function finished(l: Lowering): NodeId {
  const whole = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  if (l.capped !== true) return whole;
  const partial = l.builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: MESSAGE });
  const step = { hint: 'session.end', origin: l.team.id };
  return l.kit.when(step, `${PARTIAL} == true`, partial, whole);
}

/** The end of a session that used all its turns. */
export function exhausted({ builder }: Lowering): NodeId {
  return builder.end({ state: 'completed', code: 'BUDGET_EXHAUSTED', output: OUTPUT });
}

/** A sub-graph has no rules of its own: the session matches only the message that the sub-graph returns. */
export function openRules({ prefix, team }: Lowering): readonly Rule[] {
  return prefix === '' ? team.termination.rules : [];
}
