/**
 * The approval of a call, and the consequences of a refusal. A person sees the proposed call, the reason for the question and
 * the way to undo it. The answer is bound to the tool and its arguments: approve, edit, reject, or respond with words.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { BoundaryDef, Case, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { consequenceOf, type Trouble } from '../../document/boundary.ts';
import { approversOfTool } from '../../document/people.ts';
import { quote } from '../../expressions/cel-text.ts';
import { callFields, refusalFields } from '../escalation-packet.ts';
import { chose, set, setField, type Kit, type Step } from '../kit.ts';
import { addRefusal, addStop, type Refusal } from './outcome.ts';
import { CALL, OBSERVATIONS, ROUNDS_MAX, callerOf, type AgentTurn } from './turn.ts';

export const CHECKED = '_checked';
export const ANSWER = '_answer';
export const APPROVED = '_approved';
/** True if the same call was made before and its outcome is not known. */
export const UNKNOWN_BEFORE: Expr = `${OBSERVATIONS}.exists(o, o.unknown == true && o.tool == ${CALL}.name && o.args == ${CALL}.args)`;

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

/** A trace shows the turn and the step; an error is reported for the caller. */
export function step({ turn }: Gate, what: string): Pick<Step, 'origin' | 'authored'> {
  return { origin: `${turn.origin}: ${what}`, authored: callerOf(turn) };
}

/** A step that is in the trace even if it has no case. */
export function pick(gate: Gate, what: string, cases: readonly Case[], otherwise: NodeId): NodeId {
  const { kit } = gate;
  return kit.pick({ id: kit.builder.fresh(name(gate, what)), ...step(gate, what) }, cases, otherwise);
}

export function refuse(gate: Gate, refusal: Refusal): NodeId {
  return addRefusal(gate.kit, gate.turn, name(gate, `${refusal.step}.refused`), refusal, gate.done);
}

/** The consequence of a refusal: the agent gets the reason, a person is asked, or the turn ends with a failure of this type. */
export function addTrouble(gate: Gate, trouble: Trouble, refusal: Refusal, type: string): NodeId {
  const effect = gate.kit.builder.toolDef(gate.tool)?.effect ?? 'write';
  switch (consequenceOf(gate.boundary, trouble, effect)) {
    case 'tell':
      return refuse(gate, refusal);
    case 'fail':
      return addStop(gate.kit, gate.turn, name(gate, `${refusal.step}.stop`), { type, message: refusal.reason });
    case 'ask': {
      const message = `text(${quote(`${gate.turn.agent}: `)}, ${refusal.reason})`;
      return addQuestion(gate, { about: trouble, message, refusal, type });
    }
  }
}

export interface RefusalQuestion {
  readonly about: Trouble | 'missing';
  readonly message: Expr;
  readonly refusal: Refusal;
  /** The type of the failure if the person ends the turn. */
  readonly type: string;
}

/** A person answers a refusal: the words go to the agent, or the turn ends. */
export function addQuestion(gate: Gate, { about, message, refusal, type }: RefusalQuestion): NodeId {
  const { kit, turn } = gate;
  const failure = { type, message: refusal.reason };
  const answered = refuse(gate, { ...refusal, reason: `text(${refusal.reason}, ". Answer: ", ${CHECKED}.text)` });
  const ends = about === 'missing' ? { ...failure, code: 'MISSING_INFO' as const } : failure;
  const stopped = addStop(kit, turn, name(gate, `${about}.stop`), ends);
  if (turn.people === false) return stopped;
  return kit.ask(
    { hint: name(gate, `${about}.ask`), origin: turn.origin, authored: callerOf(turn) },
    {
      about: about === 'missing' ? 'missing_info' : about,
      askedBy: turn.agent,
      choices: [{ name: 'respond', needs: 'text' }, 'stop'],
      onExpiry: 'stop',
      code: about === 'missing' ? 'MISSING_INFO' : 'REVIEW_REQUIRED',
      purpose: about === 'missing' ? 'missing_information' : 'escalation',
      message,
      payload: refusalFields({
        trouble: about,
        tool: `${CALL}.name`,
        args: `${CALL}.args`,
        problem: refusal.reason,
        fields: `${CHECKED}.missing`,
        tools: turn.tools,
      }),
      into: CHECKED,
      next: pick(gate, `${about}.decided`, [{ when: chose(CHECKED, 'respond'), to: answered }], stopped),
      fail: stopped,
    },
  );
}

/** The number of edits of proposals at one place, over all its turns. */
const EDITS_MAX = ROUNDS_MAX;

/** `again` checks the arguments that a person edited. */
export function addApproval(gate: Gate, again: NodeId): NodeId {
  const { kit, turn, tool, dispatch } = gate;
  if (turn.people === false) return addUnapprovable(gate);
  const reason = quote(`the call of ${tool} was not approved`);
  const denied = { step: 'approval', tag: 'DENIED', reason };
  const rejected = addTrouble(gate, 'rejected', denied, 'ApprovalRejectedError');
  const answer = { step: 'answer', tag: 'ANSWER', reason: `text(${ANSWER}.text)` };
  const answered = addRefusal(kit, turn, name(gate, 'approval.answered'), answer, gate.done);
  // The editor has approved the new arguments; they must still be valid, permitted and affordable.
  const edited = kit.set(
    {
      hint: name(gate, 'approval.edited'),
      origin: turn.origin,
      charges: [kit.visits(`edits:${turn.hint}.${tool}`, EDITS_MAX, rejected, `edits of ${tool}`)],
    },
    [setField(CALL, ['args'], `${ANSWER}.edit`), set(APPROVED, 'true')],
    again,
  );
  const cases = [
    { when: chose(ANSWER, 'approve'), to: dispatch },
    { when: `${chose(ANSWER, 'edit')} && type(${ANSWER}.edit) == map`, to: edited },
    { when: chose(ANSWER, 'respond'), to: answered },
  ];
  return kit.ask(
    { hint: name(gate, 'approval'), origin: turn.origin, authored: callerOf(turn) },
    {
      about: tool,
      askedBy: turn.agent,
      choices: [
        'approve',
        { name: 'edit', edit: editSchema(gate), needs: 'edit' },
        'reject',
        { name: 'respond', needs: 'text' },
      ],
      onExpiry: 'reject',
      code: 'CONFIRM_REQUIRED',
      purpose: 'tool_call',
      ...approversOfTool(kit.builder.definitions, tool),
      ...packet(gate),
      into: ANSWER,
      next: pick(gate, 'approval.decided', cases, rejected),
      fail: rejected,
    },
  );
}

/** An edit that the tool would not take is refused as an answer, so the question stays open. */
function editSchema({ kit, tool }: Gate): Json {
  const input = kit.builder.toolDef(tool)?.input ?? true;
  return input === true ? { type: 'object' } : { allOf: [{ type: 'object' }, input] };
}

/** The call needs approval, and the document allows no questions to people. */
function addUnapprovable(gate: Gate): NodeId {
  return addStop(gate.kit, gate.turn, name(gate, 'approval.nobody'), {
    type: 'ApprovalRequiredError',
    message: quote(`${gate.tool} needs approval, and no person can be asked`),
  });
}

/** The content of the question. The answer is bound to all of it. */
function packet({ kit, turn, tool, boundary }: Gate): { readonly message: Expr; readonly payload: Input } {
  const def = kit.builder.toolDef(tool);
  const { budgets, toolCosts } = kit.builder.definitions;
  const doubt =
    boundary.untrusted === 'off' || def?.effect === 'read'
      ? '""'
      : `${CHECKED}.ok == false ? text(" Careful: ", ${CHECKED}.reason, ".") : ""`;
  const again = `${UNKNOWN_BEFORE} ? " The same call did not answer before, and it may have happened." : ""`;
  return {
    message: `text(${quote(`${turn.agent} wants to call ${tool}.`)}, ${doubt}${onlyReads(def?.effect) ? '' : `, ${again}`})`,
    payload: {
      ...callFields({ tool, def, cost: toolCosts[tool] ?? 0, args: `${CALL}.args`, budgets, observed: true }),
      boundary: quote(boundary.version),
    },
  };
}
