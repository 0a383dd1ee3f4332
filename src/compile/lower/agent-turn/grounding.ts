/**
 * The end of a turn under a boundary that says what follows from claims that nothing shows: what the agent says goes on only if
 * it rests on what was observed. Otherwise the agent is told and may mend it, a person is asked, or the turn fails.
 */
import type { NodeId } from '../../../ir/nodes.ts';
import { REPLY, TALK } from './slots.ts';
import type { AgentTurn } from './slots.ts';
import type { Builder } from '../builder.ts';
import { object, quote } from '../../expressions/cel-text.ts';
import { escalationField } from '../escalation-packet.ts';
import { NO_RETRY } from './gate.ts';
import { groundingEffect } from './grounding-check.ts';

const GROUNDED = '_grounded';
const REASON = `text(${GROUNDED}.reason)`;
/** How often a turn may mend what it said. */
const REPAIRS_MAX = 2;

/** Where the turn goes when it is over: on, or through the check; `ask` is where the agent is asked again. */
export function addGroundedEnd(builder: Builder, turn: AgentTurn, ask: NodeId): NodeId {
  const { agent, hint, origin, at, tools, next } = turn;
  if (tools.length === 0) return next;
  const { escalation, approvalTimeoutMs } = builder.boundary(agent, tools, turn.gate ?? 'eligible');
  const consequence = Object.hasOwn(escalation, 'ungrounded') ? escalation['ungrounded'] : undefined;
  if (consequence === undefined) return next;
  const violated = {
    tell: () => addRepair(builder, turn, ask, `text("This does not hold: ", ${REASON}, ". Mend it.")`),
    ask: () => addQuestion(builder, turn, ask, approvalTimeoutMs),
    fail: () => addFailure(builder, turn),
  }[consequence]();
  const judged = builder.add(
    builder.fresh(`${hint}.grounded`),
    { op: 'pick', label: { name: origin }, cases: [{ when: `${GROUNDED}.ok == true`, to: next }], otherwise: violated },
    at,
  );
  const broken = builder.add(
    builder.fresh(`${hint}.grounding.broken`),
    {
      op: 'let',
      label: { name: origin },
      writes: [{ slot: GROUNDED, mode: 'set', value: { ok: 'false', reason: 'error.message' } }],
      next: violated,
    },
    at,
  );
  const uttered = {
    what: 'the answer',
    tools,
    said: `${REPLY}.text`,
    given: turn.input['prompt'] === undefined ? ['input'] : ['input', turn.input['prompt']],
    heard: '[]',
    claimed: '[]',
  };
  return builder.add(
    builder.fresh(`${hint}.grounding`),
    {
      op: 'do',
      label: { name: `${origin}: grounding`, authored: origin },
      effect: groundingEffect(uttered, { cite: false, claims: true, values: 'names' }),
      writes: [{ slot: GROUNDED, mode: 'set', value: 'it' }],
      timeoutMs: null,
      retry: NO_RETRY,
      next: judged,
      failed: [],
      fail: broken,
    },
    at,
  );
}

function addRepair(builder: Builder, turn: AgentTurn, ask: NodeId, words: string): NodeId {
  const { hint, origin, at } = turn;
  const meter = builder.meter(`grounding:${hint}`, {
    unit: 'visits',
    max: REPAIRS_MAX * turn.visitsMax,
    over: addFailure(builder, turn),
    label: `repairs of what ${origin} says`,
  });
  return builder.add(
    builder.fresh(`${hint}.grounding.mend`),
    {
      op: 'let',
      label: { name: origin },
      charges: [meter],
      writes: [{ slot: TALK, mode: 'append', value: { role: quote('user'), content: words } }],
      next: ask,
    },
    at,
  );
}

function addQuestion(builder: Builder, turn: AgentTurn, ask: NodeId, timeoutMs: number | null): NodeId {
  const { agent, hint, origin, at, next } = turn;
  const stopped = addFailure(builder, turn);
  const told = addRepair(builder, turn, ask, `text(${GROUNDED}.text)`);
  const decided = builder.add(
    builder.fresh(`${hint}.ungrounded.decided`),
    {
      op: 'pick',
      label: { name: origin },
      cases: [
        { when: `${GROUNDED}.choice == "approve"`, to: next },
        { when: `${GROUNDED}.choice == "respond"`, to: told },
      ],
      otherwise: stopped,
    },
    at,
  );
  return builder.add(
    builder.fresh(`${hint}.ungrounded.ask`),
    {
      op: 'do',
      label: { name: origin },
      effect: {
        kind: 'ask',
        about: 'ungrounded',
        choices: [{ name: 'approve' }, { name: 'respond', needs: 'text' }, { name: 'stop' }],
        onExpiry: 'stop',
        code: 'REVIEW_REQUIRED',
        askedBy: agent,
        input: {
          message: `text(${quote(`${agent}: `)}, ${REASON})`,
          ...escalationField('low_confidence'),
          answer: `${REPLY}.text`,
          problem: REASON,
          observations: 'observations',
        },
        reserve: {},
      },
      // The reason stays, for whoever stops it here.
      writes: [
        { slot: GROUNDED, path: ['choice'], mode: 'set', value: 'it.choice' },
        { slot: GROUNDED, path: ['text'], mode: 'set', value: 'it.text' },
      ],
      timeoutMs,
      retry: NO_RETRY,
      next: decided,
      failed: [],
      fail: stopped,
    },
    at,
  );
}

function addFailure(builder: Builder, { hint, origin, at, fail, refused }: AgentTurn): NodeId {
  const error = object([
    ['class', quote('semantic')],
    ['type', quote('GroundingError')],
    ['message', REASON],
    ['node', quote(origin)],
    ['code', quote('VALIDATION_FAIL')],
  ]);
  return builder.add(
    builder.fresh(`${hint}.ungrounded`),
    {
      op: 'let',
      label: { name: origin },
      writes: [{ slot: 'error', mode: 'set', value: error }],
      next: refused ?? fail ?? builder.failedEnd(),
    },
    at,
  );
}
