/**
 * What the steps between a proposal and a call share: whose call of which tool it is, under which boundary, and the ways on
 * from a refusal. Which way is taken is the boundary's affair.
 */
import type { BoundaryDef, Case, Expr, Node, NodeId } from '../../../ir/nodes.ts';
import { ROUNDS_MAX, callerOf } from './slots.ts';
import type { AgentTurn } from './slots.ts';
import { CALL, addRefusal, addStop } from './told.ts';
import type { Refusal, Stop } from './told.ts';
import { consequenceOf } from '../../document/boundary.ts';
import type { Trouble } from '../../document/boundary.ts';
import type { Builder } from '../builder.ts';
import { quote } from '../../expressions/cel-text.ts';
import { refusalFields } from '../escalation-packet.ts';

export const CHECKED = '_checked';
export const ANSWER = '_answer';
export const APPROVED = '_approved';

export interface Gate {
  readonly builder: Builder;
  readonly turn: AgentTurn;
  readonly tool: string;
  readonly boundary: BoundaryDef;
  /** Where the call is made. */
  readonly dispatch: NodeId;
  /** Where the branch ends when the agent has been told. */
  readonly done: NodeId;
}

export function name({ turn, tool }: Gate, what: string): string {
  return `${turn.hint}.${tool}.${what}`;
}

/** What a trace shows: whose call, and which step it is at. What goes wrong there is told of whoever made the call. */
export function step({ turn }: Gate, what: string): Pick<Node, 'label'> {
  return { label: { name: `${turn.origin}: ${what}`, authored: callerOf(turn) } };
}

export const NO_RETRY = { max: 0, baseMs: 0, capMs: 0, on: [] } as const;
/** How often people may change what is proposed at one place, over all its turns. */
export const EDITS_MAX = ROUNDS_MAX;

/** The way on from a refusal, as the boundary has it. */
export function addTrouble(
  gate: Gate,
  trouble: Trouble,
  refusal: Omit<Refusal, 'hint'>,
  stop: Omit<Stop, 'hint'>,
): NodeId {
  const effect = gate.builder.toolDef(gate.tool)?.effect ?? 'write';
  switch (consequenceOf(gate.boundary, trouble, effect)) {
    case 'tell':
      return tell(gate, refusal);
    case 'fail':
      return addStop(gate.builder, gate.turn, { ...stop, hint: name(gate, `${refusal.step}.stop`) });
    case 'ask':
      return addQuestion(gate, trouble, `text(${quote(`${gate.turn.agent}: `)}, ${refusal.reason})`, refusal, stop);
  }
}

/** Somebody says what to do about a refusal: their words go to the agent, or the run stops. */
export function addQuestion(
  gate: Gate,
  about: Trouble | 'missing',
  message: Expr,
  refusal: Omit<Refusal, 'hint'>,
  stop: Omit<Stop, 'hint'>,
): NodeId {
  const { builder, turn, boundary } = gate;
  const code = about === 'missing' ? 'MISSING_INFO' : 'REVIEW_REQUIRED';
  const heard = tell(gate, { ...refusal, reason: `text(${refusal.reason}, ". Answer: ", ${CHECKED}.text)` });
  const stopped = addStop(builder, turn, {
    ...stop,
    ...(code === 'MISSING_INFO' ? { code } : {}),
    hint: name(gate, `${about}.stop`),
  });
  if (turn.people === false) return stopped;
  const decided = pick(gate, `${about}.decided`, [{ when: `${CHECKED}.choice == "respond"`, to: heard }], stopped);
  const shown = refusalFields({
    trouble: about,
    tool: `${CALL}.name`,
    args: `${CALL}.args`,
    problem: refusal.reason,
    fields: `${CHECKED}.missing`,
    tools: turn.tools,
  });
  return builder.add(
    builder.fresh(name(gate, `${about}.ask`)),
    {
      op: 'do',
      label: { name: turn.origin, authored: callerOf(turn) },
      effect: {
        kind: 'ask',
        about: about === 'missing' ? 'missing_info' : about,
        choices: [{ name: 'respond', needs: 'text' }, { name: 'stop' }],
        onExpiry: 'stop',
        code,
        askedBy: turn.agent,
        input: { message, ...shown },
        reserve: {},
      },
      writes: [{ slot: CHECKED, mode: 'set', value: 'it' }],
      timeoutMs: boundary.approvalTimeoutMs,
      retry: NO_RETRY,
      next: decided,
      failed: [],
      fail: stopped,
    },
    turn.at,
  );
}

export function tell(gate: Gate, refusal: Omit<Refusal, 'hint'>): NodeId {
  return addRefusal(gate.builder, gate.turn, { ...refusal, hint: name(gate, `${refusal.step}.refused`) }, gate.done);
}

export function pick(gate: Gate, what: string, cases: readonly Case[], otherwise: NodeId): NodeId {
  return gate.builder.add(
    gate.builder.fresh(name(gate, what)),
    { op: 'pick', ...step(gate, what), cases, otherwise },
    gate.turn.at,
  );
}
