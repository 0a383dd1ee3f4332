/** Shared state of lowering a team, and its ends. */
import type { AskEffect, Case, Expr, Input, MeterId, NodeId, Write } from '../../../ir/nodes.ts';
import type { Builder } from '../../lower/builder.ts';
import { escalationField } from '../../lower/escalation-packet.ts';
import type { Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import type { Member, Team } from './model.ts';
import { PARTIAL, SAID } from './slots.ts';

/** Agent turns of a session that sets no `MaxIterations`. */
export const TURNS_DEFAULT = 100;

export interface Lowering {
  readonly builder: Builder;
  readonly team: Team;
  /** The meter that every turn charges; null if the strategy itself bounds the turns. */
  readonly meter: MeterId | null;
  /** The most turns of the session. */
  readonly turnsMax: number;
  /** Prefix of the names in `path`, for a graph that runs inside a node. */
  readonly prefix: string;
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

export function addLet(
  { builder }: Lowering,
  hint: string,
  origin: string,
  writes: readonly Write[],
  next: NodeId,
  charges?: readonly MeterId[],
): NodeId {
  return builder.add(builder.fresh(hint), {
    op: 'let',
    label: { name: origin },
    ...(charges === undefined ? {} : { charges }),
    writes,
    next,
  });
}

/** Without cases, this is `otherwise` itself. */
export function addPick(
  { builder }: Lowering,
  hint: string,
  origin: string,
  cases: readonly Case[],
  otherwise: NodeId,
): NodeId {
  return cases.length === 0
    ? otherwise
    : builder.add(builder.fresh(hint), { op: 'pick', label: { name: origin }, cases, otherwise });
}

/** Performs a check and stores its result in the slot `into`. */
export function addCheck(
  { builder }: Lowering,
  hint: string,
  origin: string,
  check: string,
  input: Input,
  into: string,
  next: NodeId,
  fail = builder.failedEnd(SAID),
): NodeId {
  return builder.add(builder.fresh(hint), {
    op: 'do',
    label: { name: origin },
    effect: { kind: 'check', check, input, reserve: {} },
    writes: [{ slot: into, mode: 'set', value: 'it' }],
    timeoutMs: null,
    retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
    next,
    failed: [],
    fail,
  });
}

export interface Question {
  readonly hint: string;
  /** The key of the question, together with `about`. */
  readonly origin: string;
  readonly about: string;
  readonly askedBy: string;
  readonly choices: AskEffect['choices'];
  readonly message: Expr;
  readonly payload: Input;
  readonly code: 'CONFIRM_REQUIRED' | 'REVIEW_REQUIRED';
  readonly into: string;
  readonly next: NodeId;
}

/** Asks a person. An expired question counts as rejected. */
export function addQuestion({ builder }: Lowering, question: Question): NodeId {
  const { hint, origin, about, askedBy, choices, message, payload, code, into, next } = question;
  return builder.add(builder.fresh(hint), {
    op: 'do',
    label: { name: origin },
    effect: {
      kind: 'ask',
      about,
      choices,
      onExpiry: 'reject',
      code,
      askedBy,
      input: {
        message,
        ...escalationField(code === 'REVIEW_REQUIRED' ? 'low_confidence' : 'high_impact_mutation'),
        ...payload,
      },
      reserve: {},
    },
    writes: [{ slot: into, mode: 'set', value: 'it' }],
    timeoutMs: null,
    retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
    next,
    failed: [],
    fail: builder.failedEnd(SAID),
  });
}

/** The end of a session that succeeded, or succeeded in part. */
export function success(l: Lowering): NodeId {
  const whole = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  if (l.capped !== true) return whole;
  const partial = l.builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: SAID });
  return addPick(l, 'session.end', l.team.id, [{ when: `${PARTIAL} == true`, to: partial }], whole);
}

/** The end of a session that used all its turns. */
export function exhausted({ builder }: Lowering): NodeId {
  return builder.end({ state: 'completed', code: 'BUDGET_EXHAUSTED', output: SAID });
}
