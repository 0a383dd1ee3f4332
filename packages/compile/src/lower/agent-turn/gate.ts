/** The consequences of a call that was not made, or whose result was refused: words for the agent, a question, or a failure. */
import { consequenceOf, refusalFields } from '@sluice-internal/controls';
import type { Trouble } from '@sluice-internal/controls';
import { quote } from '@sluice-internal/kernel/expr';
import type { BoundaryDef, Expr, NodeId } from '@sluice-internal/kernel/ir';
import { chose, type Kit } from '../kit.ts';
import { addRefusal, addStop, type Refusal } from './outcome.ts';
import { CALL, OBSERVATIONS, asksPeople, callerOf, type AgentTurn } from './turn.ts';

const ANSWER = '_answer';

/** One tool of one turn, on the way from a proposal to the call. */
export interface Gate {
  readonly kit: Kit;
  readonly turn: AgentTurn;
  readonly tool: string;
  readonly boundary: BoundaryDef;
  /** The node that makes the call. */
  readonly dispatch: NodeId;
  /** The end of the branch, after a refusal was recorded. */
  readonly done: NodeId;
}

export function name({ turn, tool }: Gate, what: string): string {
  return `${turn.hint}.${tool}.${what}`;
}

/** The consequence of a refusal: the agent gets the reason, a person is asked, or the turn ends with a failure of this type. */
export function addTrouble(gate: Gate, trouble: Trouble, refusal: Refusal, type: string): NodeId {
  const { kit, turn, boundary, tool, done } = gate;
  const effect = kit.builder.toolDef(tool)?.effect ?? 'write';
  switch (consequenceOf(boundary, trouble, effect)) {
    case 'tell':
      return addRefusal(kit, turn, name(gate, `${refusal.step}.refused`), refusal, done);
    case 'fail':
      return addStop(kit, turn, name(gate, `${refusal.step}.stop`), { type, message: refusal.reason });
    case 'ask': {
      const message = `text(${quote(`${turn.agent}: `)}, ${refusal.reason})`;
      return addQuestion(gate, { about: trouble, message, refusal, type });
    }
  }
}

export interface RefusalQuestion {
  readonly about: Trouble;
  readonly message: Expr;
  readonly refusal: Refusal;
  /** The type of the failure if the person ends the turn. */
  readonly type: string;
}

/** A person answers a refusal: the words go to the agent, or the turn ends. */
export function addQuestion(gate: Gate, { about, message, refusal, type }: RefusalQuestion): NodeId {
  const { kit, turn, done } = gate;
  const told = { ...refusal, reason: `text(${refusal.reason}, ". Answer: ", ${ANSWER}.text)` };
  const answered = addRefusal(kit, turn, name(gate, `${refusal.step}.refused`), told, done);
  const stopped = addStop(kit, turn, name(gate, `${about}.stop`), { type, message: refusal.reason });
  if (!asksPeople(kit, turn)) return stopped;
  const step = { origin: turn.origin, authored: callerOf(turn) };
  return kit.ask(
    { hint: name(gate, `${about}.ask`), ...step },
    {
      about,
      askedBy: turn.agent,
      choices: [{ name: 'respond', needs: 'text' }, 'stop'],
      onExpiry: 'stop',
      code: 'REVIEW_REQUIRED',
      purpose: 'escalation',
      message,
      payload: refusalFields({
        trouble: about,
        tool: `${CALL}.name`,
        args: `${CALL}.args`,
        problem: refusal.reason,
        fields: 'null',
        tools: turn.tools,
        observations: OBSERVATIONS,
      }),
      into: ANSWER,
      next: kit.when({ hint: name(gate, `${about}.decided`), ...step }, chose(ANSWER, 'respond'), answered, stopped),
      fail: stopped,
    },
  );
}
