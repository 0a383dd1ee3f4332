/**
 * One turn of an agent with tools: ask the model, make the calls it requests, show it the results, until it requests no more.
 * Every notation lowers its agents through this file.
 */
import type { NodeId, Write, Expr } from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import { quote } from '@sluice-internal/kernel/expr';
import { agentSteps } from '../budget-meters.ts';
import type { Builder } from '../builder-types.ts';
import { REMARK, heardBy, hearsAs } from '../guidance.ts';
import { append, createKit, set, type Kit } from '../kit.ts';
import { answerOf } from '../memory/memory.ts';
import { addCalls, type CallingTurn } from './calls.ts';
import { addGroundedEnd } from './grounding.ts';
import { MODEL_RETRY } from './model-retry.ts';
import { addStop } from './outcome.ts';
import { REPLY, ROUNDS_MAX, TALK, type AgentTurn } from './turn.ts';

/** Adds the reply of the agent to the talk. */
export const REPLIED: readonly Write[] = [
  set(REPLY, 'it'),
  append(TALK, { role: quote('assistant'), content: 'it.text', toolCalls: 'it.toolCalls', parts: 'it.parts' }),
];

/** Adds the turn and returns its first node. At `next`, `reply` and `talk` are set. */
export function addTurn(builder: Builder, given: AgentTurn): NodeId {
  const kit = createKit(builder, given.at);
  const turn = recorded(kit, given);
  const { agent, hint, origin, opening = [] } = turn;
  const ask = builder.fresh(`${hint}.ask`);
  const begin = turn.begin ?? builder.fresh(hint);
  const effect = builder.model(agent, '""');
  kit.set(
    {
      id: begin,
      origin,
      enters: turn.enters,
      expects: turn.expects,
      hears: turn.hears,
      charges: [...(turn.charges ?? []), ...agentSteps(builder.definitions.agentBudgets, agent)],
    },
    [set(TALK, turn.hears === undefined ? heardBy(agent) : '[]'), ...opening],
    turn.prepare?.(ask) ?? ask,
  );
  kit.call(
    { id: ask, origin, hears: turn.hears === undefined ? hearsAs(agent, [append(TALK, REMARK)]) : undefined },
    {
      effect: { ...effect, input: { ...turn.input, messages: TALK }, ...present({ samples: turn.samples }) },
      ...present({ schema: turn.schema, fit: turn.fit }),
      writes: REPLIED,
      timeoutMs: turn.timeoutMs,
      retry: turn.retry ?? MODEL_RETRY,
      next: addLook(kit, { ...turn, begin }, ask),
      fail: turn.fail,
    },
  );
  return begin;
}

/** The answer of an agent with memory is recorded before the turn goes on. */
function recorded(kit: Kit, turn: AgentTurn): AgentTurn {
  const { agent, hint, origin, input, next } = turn;
  const write = answerOf(kit.builder.definitions, agent, input, `${REPLY}.text`);
  return write === undefined ? turn : { ...turn, next: kit.set({ hint: `${hint}.remember`, origin }, [write], next) };
}

/** After each reply: the turn is over, or its tool calls are made. The reply of an agent without tools always ends its turn. */
function addLook(kit: Kit, turn: CallingTurn, ask: NodeId): NodeId {
  const { hint, origin, roundsMax = ROUNDS_MAX, callsMax = 0 } = turn;
  const over = addGroundedEnd(kit, turn, ask);
  if (turn.tools.length === 0) return over;
  // A turn that still requests tools has no answer to pass on, so it fails.
  const endless = addStop(
    kit,
    turn,
    `${hint}.endless`,
    { type: 'RoundsError', message: quote(`${origin} still requested tools after ${roundsMax} rounds`) },
    turn.fail,
  );
  // Every round makes at least one call, so a limit on the calls of a turn also limits its rounds.
  const fewer = callsMax > 0 ? { roundsEach: Math.min(callsMax, roundsMax) } : {};
  return kit.pick(
    { hint: `${hint}.look`, origin },
    [
      { when: `size(${REPLY}.toolCalls) == 0`, to: over },
      ...(callsMax > 0 ? [{ when: `${messagesBy('tool')} >= ${callsMax}`, to: over }] : []),
      { when: `${messagesBy('assistant')} > ${roundsMax}`, to: endless },
    ],
    addCalls(kit, { ...turn, ...fewer, next: over }, ask, endless),
  );
}

function messagesBy(role: string): Expr {
  return `size(${TALK}.filter(m, m.role == ${quote(role)}))`;
}
