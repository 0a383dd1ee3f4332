/** Records the outcome of a proposed call: a message to the agent, and an observation. */
import type { Expr, Input, NodeId, Write } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/kernel/expr';
import { append, set, type Failure, type Kit } from '../kit.ts';
import { CALL, OBSERVATIONS, TALK, callerOf, type AgentTurn } from './turn.ts';

/** A message with a `source` is shown to the agent as data from outside, with the id of its observation. */
export function outcomeOf(agent: string, content: Expr, outcome: Input, source?: string): readonly Write[] {
  const id = `text(${quote(agent)}, ".", turn, ".", size(${TALK}), ".", ${CALL}_index)`;
  const label: Input = source === undefined ? {} : { source: quote(source), observation: id };
  return [
    append(TALK, { role: quote('tool'), toolCallId: `${CALL}.id`, name: `${CALL}.name`, content, ...label }),
    append(OBSERVATIONS, {
      id,
      turn: 'turn',
      agent: quote(agent),
      tool: `${CALL}.name`,
      args: `${CALL}.args`,
      ...outcome,
    }),
  ];
}

export interface Refusal {
  /** The step that refused the call; the observation names it. */
  readonly step: string;
  /** The tag in front of the reason, in the message to the agent. */
  readonly tag: string;
  readonly reason: Expr;
}

/** The call is not made. The agent reads why, and the turn goes on. */
export function addRefusal(kit: Kit, turn: AgentTurn, hint: string, refusal: Refusal, next: NodeId): NodeId {
  const { step, tag, reason } = refusal;
  const outcome = { ok: 'false', error: reason, refused: quote(step) };
  const writes = outcomeOf(turn.agent, `text(${quote(`[${tag}] `)}, ${reason})`, outcome);
  return kit.set({ hint, origin: turn.origin }, [...writes, set('error', 'null')], next);
}

/** The call is not made, and the turn ends: its branch fails unless `next` leads elsewhere. */
export function addStop(kit: Kit, turn: AgentTurn, hint: string, failure: Failure, next?: NodeId): NodeId {
  return kit.fail({ hint, origin: turn.origin }, { ...failure, node: callerOf(turn) }, next);
}
