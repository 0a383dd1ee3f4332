/** What an agent is told about a call that it proposed, and what the run knows from then on: always both, and never more. */
import type { Expr, Input, NodeId, Write } from '../../../ir/nodes.ts';
import { OBSERVATIONS, TALK, callerOf } from './slots.ts';
import type { AgentTurn } from './slots.ts';
import type { Builder } from '../builder.ts';
import { object, quote } from '../../expressions/cel-text.ts';

/** The call that a branch is about: `{ id, name, args }`. */
export const CALL = 'call';

/** Messages with a source are data from outside, and are shown to the agent as such. */
export function told(agent: string, content: Expr, outcome: Input, source?: string): readonly Write[] {
  const id = `text(${quote(agent)}, ".", turn, ".", size(${TALK}), ".", ${CALL}_index)`;
  const label: Input = source === undefined ? {} : { source: quote(source) };
  return [
    {
      slot: TALK,
      mode: 'append',
      value: { role: quote('tool'), toolCallId: `${CALL}.id`, name: `${CALL}.name`, content, ...label },
    },
    {
      slot: OBSERVATIONS,
      mode: 'append',
      value: { id, turn: 'turn', agent: quote(agent), tool: `${CALL}.name`, args: `${CALL}.args`, ...outcome },
    },
  ];
}

export interface Refusal {
  /** What the node is called after. */
  readonly hint: string;
  /** The step that refused, which the observation names. */
  readonly step: string;
  /** The tag and the sentence that the agent reads. */
  readonly tag: string;
  readonly reason: Expr;
}

/** A call that was not made: the agent is told why and may do something else. */
export function addRefusal(
  builder: Builder,
  { origin, at, agent }: AgentTurn,
  { hint, step, tag, reason }: Refusal,
  next: NodeId,
): NodeId {
  const outcome = { ok: 'false', error: reason, refused: quote(step) };
  const writes = [
    ...told(agent, `text(${quote(`[${tag}] `)}, ${reason})`, outcome),
    { slot: 'error', mode: 'set', value: 'null' } as const,
  ];
  return builder.add(builder.fresh(hint), { op: 'let', label: { name: origin }, writes, next }, at);
}

export interface Stop {
  readonly hint: string;
  readonly class: 'semantic' | 'policy' | 'guardrail' | 'rate_limit';
  readonly type: string;
  readonly code: string;
  readonly message: Expr;
}

/** What ends the turn: a call that was not made fails its branch, and with it whoever asked, unless it leads elsewhere. */
export function addStop(builder: Builder, turn: AgentTurn, stop: Stop, next: NodeId = builder.failedEnd()): NodeId {
  const { origin, at } = turn;
  const error = object([
    ['class', quote(stop.class)],
    ['type', quote(stop.type)],
    ['message', stop.message],
    ['node', quote(callerOf(turn))],
    ['code', quote(stop.code)],
  ]);
  return builder.add(
    builder.fresh(stop.hint),
    { op: 'let', label: { name: origin }, writes: [{ slot: 'error', mode: 'set', value: error }], next },
    at,
  );
}
