/**
 * The approval of a call. A person sees the call, the reason for the question and the way to undo it. The answer is bound to the
 * tool and its arguments: approve, edit, reject, or respond with words.
 */
import { quote } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { AskControl, AskEffect, Control, Expr } from '@sluice-internal/kernel/ir';
import { consequenceOf } from './consequence.ts';
import type { Boundary, ControlFile, ProposedCall, ProposingAgent } from './control.ts';
import { REJECTED, UNAPPROVABLE } from './errors.ts';
import { callFields, repeatedField } from './packet.ts';
import { isHarmless, mayAsk } from './reach.ts';
import { watchesRepeats } from './repeat.ts';
import { questionAbout } from './trouble.ts';

/** The number of times that a person may change the arguments of one call. */
const EDITS_MAX = 50;
/** The slot that has the answer. */
export const ANSWER = '_answer';
const WORDS = { step: 'approval', tag: 'DENIED', error: REJECTED } as const;

export const approvalControl: ControlFile = {
  name: 'approval',
  lower(call, boundary) {
    if (!mayAsk(call, boundary)) return null;
    return call.agent === null ? byAuthor(call) : byAgent(call, call.agent, boundary);
  },
};

function byAgent(call: ProposedCall, agent: ProposingAgent, boundary: Boundary): Control {
  const { tool, def } = call;
  // For a watched tool the control `repeat` has the doubt.
  const again = watchesRepeats(call) ? 'false' : unknownBefore(call, agent);
  const when = boundary.tools.approve.includes(tool) ? 'true' : isHarmless(def) ? 'false' : again;
  if (!agent.people) return unapprovable(tool, when);
  const onRefuse = consequenceOf(boundary, 'rejected', def?.effect ?? 'write');
  const doubt = '_walk.doubt == null ? "" : text(" Careful: ", _walk.doubt, ".")';
  const repeated = `${again} ? " The same call did not answer before, and it may have happened." : ""`;
  return {
    control: 'approval',
    how: 'ask',
    onRefuse,
    with: {
      when,
      ask: {
        ...asked(call),
        choices: [
          { name: 'approve' },
          { name: 'edit', edit: editSchema(call), needs: 'edit' },
          { name: 'reject' },
          { name: 'respond', needs: 'text' },
        ],
        input: {
          message: `text(${quote(`${agent.name} wants to call ${tool}.`)}, ${doubt}${onlyReads(def?.effect) ? '' : `, ${repeated}`})`,
          ...callFields({ ...call, observations: agent.observations }),
          ...(watchesRepeats(call) ? repeatedField(call) : {}),
          problem: '_walk.doubt',
          boundary: quote(boundary.version),
        },
      },
      timeoutMs: call.approvalTimeoutMs,
      into: ANSWER,
      ways: { approve: 'pass', edit: 'edit', respond: 'tell' },
      told: { step: 'answer', tag: 'ANSWER', reason: 'text(_walk.answer.text)' },
      edits: EDITS_MAX,
      ...WORDS,
      reason: `text(${quote(`the call of ${tool} was not approved`)}, ${ANSWER}.text in [null, ""] ? "" : text(": ", ${ANSWER}.text))`,
      ...(onRefuse === 'ask' ? questionAbout(call, 'rejected', WORDS) : {}),
    },
  };
}

/** The definition of the tool demands an approval of every call, or the sources of the arguments are in doubt. */
function byAuthor(call: ProposedCall): AskControl {
  const { tool, needsApproval, approvalTimeoutMs } = call;
  const question = quote(`Call ${tool}?`);
  const doubted = `_walk.doubt == null ? ${question} : text(${quote(`Call ${tool}? Careful: `)}, _walk.doubt, ".")`;
  return {
    control: 'approval',
    how: 'ask',
    onRefuse: 'fail',
    with: {
      when: needsApproval ? 'true' : 'false',
      ask: {
        ...asked(call),
        choices: [{ name: 'approve' }, { name: 'reject' }],
        input: {
          message: needsApproval ? question : doubted,
          ...callFields({ ...call, observations: null }),
          problem: '_walk.doubt',
        },
      },
      timeoutMs: approvalTimeoutMs,
      ways: { approve: 'pass' },
      edits: 0,
      ...WORDS,
      reason: quote(`the call of \`${tool}\` was not approved`),
    },
  };
}

function asked({ tool, askedBy, approvers }: ProposedCall): Omit<AskEffect, 'choices' | 'input'> {
  return {
    kind: 'ask',
    about: tool,
    askedBy,
    onExpiry: 'reject',
    code: 'CONFIRM_REQUIRED',
    purpose: 'tool_call',
    ...(approvers === undefined ? {} : { approvers }),
    reserve: {},
  };
}

/** The call needs approval, and the document allows no questions to people. */
function unapprovable(tool: string, when: Expr): Control {
  const reason = quote(`${tool} needs approval, and no person can be asked`);
  return {
    control: 'approval',
    how: 'expr',
    onRefuse: 'fail',
    with: { cases: [{ when: `_walk.doubt != null || ${when}`, reason }], ...WORDS, error: UNAPPROVABLE },
  };
}

/** True if the same call was made before and its outcome is not known. */
function unknownBefore({ tool, args }: ProposedCall, { observations }: ProposingAgent): Expr {
  return `${observations}.exists(o, o.unknown == true && o.tool == ${quote(tool)} && o.args == ${args})`;
}

/** An edit that the tool would not take is refused as an answer, so the question stays open. */
function editSchema({ def }: ProposedCall): Json {
  const input = def?.input ?? true;
  return input === true ? { type: 'object' } : { allOf: [{ type: 'object' }, input] };
}
