/**
 * The loop detector of a turn. A call that repeats earlier ones without a new result in between is not made. The first time,
 * the agent reads a correction. The next time in the same turn, the turn ends, or a person is asked. A read that only has the
 * words of a recent one in another order is refused once, and made if the agent asks for it again.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { BoundaryDef, Decision, Expr, MeterId, NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/kernel/expr';
import { chose, set, type Failure, type Kit, type Step } from '../kit.ts';
import { decided } from '../recovery.ts';
import { outcomeOf } from './outcome.ts';
import { CALL, TALK, asksPeople, callerOf, type AgentTurn } from './turn.ts';

const CORRECTION =
  'this call repeats earlier calls and brings nothing new. Try something else, or finish with what you know';
const BLOCKED = `[BLOCKED] ${CORRECTION}`;
const REPHRASED =
  'this call has the same words as an earlier one. Use the earlier result, or ask something else; if the order of the words matters, make the call again';
const ANSWER = '_loop';

/** Adds the meter that every tool call of the turn charges. `done` ends the branch of a call. */
export function addLoopDetector(kit: Kit, turn: AgentTurn, boundary: BoundaryDef, done: NodeId): readonly MeterId[] {
  const { loop: rules = kit.builder.definitions.protections.loop } = turn;
  if (rules === null || turn.tools.length === 0) return [];
  const { identical, window, cycle, failures, same_failure: sameFailure, rephrased, ignore, on_trip: onTrip } = rules;
  const { hint, origin } = turn;
  const decide = (action: Decision['action'], id: string): Step =>
    decided({ hint: `${hint}.${id}`, origin }, 'tool_loop', action);
  const blocked = (content: Expr, id: string, reason = CORRECTION): NodeId =>
    kit.set(
      decide('block', id),
      [
        ...outcomeOf(turn.agent, content, { ok: 'false', error: quote(reason), refused: quote('loop') }),
        set('error', 'null'),
      ],
      done,
    );
  const failure: Failure = {
    type: 'LoopError',
    message: `text(${quote(`${turn.agent} repeats the call of `)}, ${CALL}.name, " after a correction")`,
    node: callerOf(turn),
  };
  const aborted = turn.recovers === true ? { hint: `${hint}.looped`, origin } : decide('abort', 'looped');
  const end = kit.fail(aborted, failure);
  const again =
    onTrip === 'escalate' && asksPeople(kit, turn)
      ? addQuestion(kit, turn, boundary, { failure, end, blocked, step: decide('escalate', 'loop.ask') })
      : end;
  const over = kit.when(
    { hint: `${hint}.loop`, origin },
    `${TALK}.exists(m, m.role == "tool" && m.content == ${quote(BLOCKED)})`,
    again,
    blocked(quote(BLOCKED), 'repeated'),
  );
  const shared = { unit: 'repeats', window, ...(ignore.length === 0 ? {} : { ignore }) } as const;
  const label = `protections.loop of ${origin}`;
  const meters = [
    kit.builder.meter(`repeats:${hint}`, {
      ...shared,
      max: identical - 1,
      cycle,
      failures,
      sameFailure,
      over,
      label,
    }),
  ];
  if (!rephrased || window < 2 || !turn.tools.some((tool) => onlyReads(kit.builder.toolDef(tool)?.effect ?? 'write')))
    return meters;
  const refused = blocked(quote(`[BLOCKED] ${REPHRASED}`), 'rephrased', REPHRASED);
  return [...meters, kit.builder.meter(`words:${hint}`, { ...shared, max: 1, words: true, over: refused, label })];
}

interface LoopQuestion {
  readonly failure: Failure;
  readonly end: NodeId;
  readonly blocked: (content: Expr, id: string) => NodeId;
  readonly step: Step;
}

/** A person answers a loop: the words go to the agent, or the turn ends. */
function addQuestion(kit: Kit, turn: AgentTurn, boundary: BoundaryDef, question: LoopQuestion): NodeId {
  const { failure, end, blocked, step } = question;
  const answered = blocked(`text("[ANSWER] ", ${ANSWER}.text)`, 'answered');
  return kit.ask(
    { ...step, authored: callerOf(turn) },
    {
      about: 'loop',
      askedBy: turn.agent,
      choices: [{ name: 'respond', needs: 'text' }, 'stop'],
      onExpiry: 'stop',
      code: 'REVIEW_REQUIRED',
      purpose: 'escalation',
      row: 'tool_failure',
      message: failure.message,
      payload: { tool: `${CALL}.name`, args: `${CALL}.args`, problem: failure.message },
      into: ANSWER,
      timeoutMs: boundary.approvalTimeoutMs,
      next: kit.when(
        { hint: `${turn.hint}.loop.decided`, origin: turn.origin },
        chose(ANSWER, 'respond'),
        answered,
        end,
      ),
      fail: end,
    },
  );
}
