/**
 * A person before a call: what is proposed, why it needs them and how it can be taken back. Their answer is bound to the
 * tool and its arguments. They may agree, refuse, answer with words, or change the arguments, which are then judged again.
 */
import type { Choice, DoNode, Input, NodeId } from '../../../ir/nodes.ts';
import { callerOf } from './slots.ts';
import { CALL, addRefusal, addStop } from './told.ts';
import { quote } from '../../expressions/cel-text.ts';
import { callFields } from '../escalation-packet.ts';
import { ANSWER, APPROVED, CHECKED, EDITS_MAX, NO_RETRY, addTrouble, name, pick } from './gate.ts';
import type { Gate } from './gate.ts';

const APPROVAL_CHOICES: readonly Choice[] = [
  { name: 'approve' },
  { name: 'edit', edit: { type: 'object' }, needs: 'edit' },
  { name: 'reject' },
  { name: 'respond', needs: 'text' },
];

/** `again` is where arguments are judged that somebody has changed. */
export function addApproval(gate: Gate, again: NodeId): NodeId {
  const { builder, turn, tool, boundary, dispatch } = gate;
  if (turn.people === false) return addNobody(gate);
  const reason = quote(`the call of ${tool} was not approved`);
  const rejected = addTrouble(
    gate,
    'rejected',
    { step: 'approval', tag: 'DENIED', reason },
    { class: 'policy', type: 'ApprovalRejectedError', code: 'PERMISSION_DENIED', message: reason },
  );
  const answered = addRefusal(
    builder,
    turn,
    { hint: name(gate, 'approval.answered'), step: 'answer', tag: 'ANSWER', reason: `text(${ANSWER}.text)` },
    gate.done,
  );
  const edits = builder.meter(`edits:${turn.hint}.${tool}`, {
    unit: 'visits',
    max: EDITS_MAX,
    over: rejected,
    label: `edits of ${tool}`,
  });
  const edited = builder.add(
    builder.fresh(name(gate, 'approval.edited')),
    {
      op: 'let',
      label: { name: turn.origin },
      charges: [edits],
      // Whoever changed it has approved what they wrote; it must still be valid, permitted and affordable.
      writes: [
        { slot: CALL, path: ['args'], mode: 'set', value: `${ANSWER}.edit` },
        { slot: APPROVED, mode: 'set', value: 'true' },
      ],
      next: again,
    },
    turn.at,
  );
  const decided = pick(
    gate,
    'approval.decided',
    [
      { when: `${ANSWER}.choice == "approve"`, to: dispatch },
      { when: `${ANSWER}.choice == "edit" && type(${ANSWER}.edit) == map`, to: edited },
      { when: `${ANSWER}.choice == "respond"`, to: answered },
    ],
    rejected,
  );
  const node: DoNode = {
    op: 'do',
    label: { name: turn.origin, authored: callerOf(turn) },
    effect: {
      kind: 'ask',
      about: tool,
      choices: APPROVAL_CHOICES,
      onExpiry: 'reject',
      code: 'CONFIRM_REQUIRED',
      askedBy: turn.agent,
      input: packet(gate),
      reserve: {},
    },
    writes: [{ slot: ANSWER, mode: 'set', value: 'it' }],
    timeoutMs: boundary.approvalTimeoutMs,
    retry: NO_RETRY,
    next: decided,
    failed: [],
    fail: rejected,
  };
  return builder.add(builder.fresh(name(gate, 'approval')), node, turn.at);
}

/** A call that somebody has to agree to, where there is nobody. */
function addNobody(gate: Gate): NodeId {
  const { builder, turn, tool } = gate;
  return addStop(builder, turn, {
    hint: name(gate, 'approval.nobody'),
    class: 'policy',
    type: 'ApprovalRequiredError',
    code: 'CONFIRM_REQUIRED',
    message: quote(`${tool} needs somebody's approval, and nobody can be asked`),
  });
}

/** What is shown, all of which the answer is bound to. */
function packet({ builder, turn, tool, boundary }: Gate): Input {
  const def = builder.toolDef(tool);
  const { budgets, toolCosts } = builder.definitions;
  const doubt =
    boundary.untrusted === 'off' || def?.effect === 'read'
      ? '""'
      : `${CHECKED}.ok == false ? text(" Careful: ", ${CHECKED}.reason, ".") : ""`;
  return {
    message: `text(${quote(`${turn.agent} wants to call ${tool}.`)}, ${doubt})`,
    ...callFields({ tool, def, cost: toolCosts[tool] ?? 0, args: `${CALL}.args`, budgets, observed: true }),
    boundary: quote(boundary.version),
  };
}
