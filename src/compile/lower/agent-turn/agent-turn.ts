/**
 * One turn of an agent that may use tools: it is asked, what it asks for is done and told it, until it asks for nothing
 * more. Every notation lowers its agents through here, so that what a turn is, records and costs is the same in all of them.
 */
import type { FailureClass } from '../../../ir/codes.ts';
import type { Expr, NodeId, Retry } from '../../../ir/nodes.ts';
import { addCalls } from './calls.ts';
import { addGroundedEnd } from './grounding.ts';
import { REPLY, ROUNDS_MAX, TALK } from './slots.ts';
import type { AgentTurn } from './slots.ts';
import { addStop } from './told.ts';
import { agentSteps } from '../budget-meters.ts';
import type { Builder } from '../builder.ts';
import { quote } from '../../expressions/cel-text.ts';

/** A transient failure of a model is tried again twice. */
export const MODEL_RETRY: Retry = {
  max: 2,
  baseMs: 500,
  capMs: 30_000,
  on: ['transient', 'rate_limit', 'timeout'] satisfies readonly FailureClass[],
};

/** Adds the turn and returns where it begins. Afterwards `reply` and `talk` are set, and `next` has control. */
export function addTurn(builder: Builder, turn: AgentTurn): NodeId {
  const { agent, hint, origin, at } = turn;
  const ask = builder.fresh(`${hint}.ask`);
  const look = builder.fresh(`${hint}.look`);
  const effect = builder.model(agent, '""');
  const { enters, opening = [] } = turn;
  const charges = [...(turn.charges ?? []), ...agentSteps(builder.definitions.agentBudgets, agent)];
  const begin = builder.add(
    turn.begin ?? builder.fresh(hint),
    {
      op: 'let',
      label: { name: origin, ...(enters === undefined ? {} : { enters }) },
      ...(turn.expects === undefined ? {} : { expects: turn.expects }),
      ...(charges.length === 0 ? {} : { charges }),
      writes: [{ slot: TALK, mode: 'set', value: '[]' }, ...opening],
      next: turn.prepare?.(ask) ?? ask,
    },
    at,
  );
  builder.add(
    ask,
    {
      op: 'do',
      label: { name: origin },
      effect: { ...effect, input: { ...turn.input, messages: TALK } },
      ...(turn.schema === undefined ? {} : { schema: turn.schema }),
      writes: [
        { slot: REPLY, mode: 'set', value: 'it' },
        {
          slot: TALK,
          mode: 'append',
          value: { role: quote('assistant'), content: 'it.text', toolCalls: 'it.toolCalls' },
        },
      ],
      timeoutMs: turn.timeoutMs ?? null,
      retry: turn.retry ?? MODEL_RETRY,
      next: look,
      failed: [],
      fail: turn.fail ?? builder.failedEnd(),
    },
    at,
  );
  const over = addGroundedEnd(builder, turn, ask);
  const endless = addEndless(builder, turn);
  builder.add(
    look,
    {
      op: 'pick',
      label: { name: origin },
      cases: [
        ...endings(turn).map((when) => ({ when, to: over })),
        { when: `${said('assistant')} > ${turn.roundsMax ?? ROUNDS_MAX}`, to: endless },
      ],
      otherwise: addCalls(builder, { ...turn, next: over }, ask, endless),
    },
    at,
  );
  return begin;
}

/** When the turn is over: nothing was asked for, or it may ask for nothing more. */
function endings({ callsMax = 0 }: AgentTurn): readonly Expr[] {
  return [`size(${REPLY}.toolCalls) == 0`, ...(callsMax > 0 ? [`${said('tool')} >= ${callsMax}`] : [])];
}

function said(role: string): Expr {
  return `size(${TALK}.filter(m, m.role == ${quote(role)}))`;
}

/** A turn that went round and round has failed: whoever asked the agent is not handed what it never said. */
function addEndless(builder: Builder, turn: AgentTurn): NodeId {
  const { hint, origin, fail, roundsMax = ROUNDS_MAX } = turn;
  const message = quote(`${origin} still asked for tools after ${roundsMax} rounds`);
  const stop = { class: 'semantic', type: 'RoundsError', code: 'REPEATED_FAILURE', message } as const;
  return addStop(builder, turn, { ...stop, hint: `${hint}.endless` }, fail);
}
