/**
 * The checks of a proposed call, in order: schema, permission, budget and rate, risk, approval. Each is a node, so each is in
 * the trace, even where it cannot refuse under this boundary.
 */
import { consequenceOf } from '../../document/boundary.ts';
import type { Case, Expr, Input, NodeId, Write } from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import { quote } from '../../expressions/cel-text.ts';
import { agentMeterIds } from '../budget-meters.ts';
import { set, setField } from '../kit.ts';
import { isHarmless, provenanceCheck } from '../provenance-check.ts';
import {
  APPROVED,
  CHECKED,
  UNKNOWN_BEFORE,
  addApproval,
  addQuestion,
  addTrouble,
  name,
  pick,
  refuse,
  step,
} from './gate.ts';
import type { Gate } from './gate.ts';
import { addGuards } from './guards.ts';
import { addRefusal, addStop } from './outcome.ts';
import { CALL, OBSERVATIONS } from './turn.ts';

/** Attempts in a row to repair arguments. */
const REPAIRS_MAX = 2;
/** Denials in a run that count as mistakes; the next one ends the run. */
const DENIALS_MAX = 2;
/** Attempts to make a call that exceeds its rate. */
const DEFERRALS_MAX = 3;

/** Adds the checks and returns the first. */
export function addEligibility(gate: Gate): NodeId {
  const first = gate.kit.builder.fresh(name(gate, 'schema'));
  addSchema(gate, first, addPermission(gate, addBudget(gate, addRisk(gate, first))));
  return first;
}

/** Converts and validates the arguments. The agent may repair them twice; a person can be asked for missing fields. */
function addSchema(gate: Gate, at: NodeId, next: NodeId): void {
  const { boundary, tool } = gate;
  const reason = `text(${quote(`the arguments of ${tool} are not valid: `)}, ${CHECKED}.reason)`;
  const refusal = { step: 'schema', tag: 'INVALID', reason };
  const type = 'ArgumentError';
  const exhausted = addTrouble(gate, 'malformed', refusal, type);
  const again = boundary.decisions.includes('repair') ? refuse(gate, refusal) : exhausted;
  const last = `tail(${OBSERVATIONS}, ${REPAIRS_MAX})`;
  const often = `size(${last}) == ${REPAIRS_MAX} && ${last}.all(o, o.refused == "schema")`;
  // If the agent gets the refusal, no person is asked about it.
  const asks = boundary.decisions.includes('clarify') && consequenceOf(boundary, 'malformed', null) !== 'tell';
  const message = `text(${quote(`${tool} needs: `)}, join(${CHECKED}.missing, ", "))`;
  const cases: Case[] = [
    { when: `${CHECKED}.ok == true`, to: next },
    ...(asks
      ? [
          {
            when: `${often} && size(${CHECKED}.missing) > 0`,
            to: addQuestion(gate, { about: 'missing', message, refusal, type }),
          },
        ]
      : []),
    { when: often, to: exhausted },
  ];
  check(gate, {
    id: at,
    check: 'policy:arguments',
    input: { raw: `${CALL}.raw` },
    writes: [setField(CALL, ['args'], 'it.args')],
    next: pick(gate, 'schema.judged', cases, again),
    fail: exhausted,
  });
}

/** Denied by the boundary or by a policy. The third denial of a run ends it. */
function addPermission(gate: Gate, next: NodeId): NodeId {
  const { kit, boundary, tool, turn } = gate;
  if (boundary.tools.deny.includes(tool))
    return pick(gate, 'permission', [], denied(gate, quote(`the boundary does not let ${turn.agent} call ${tool}`)));
  if (!kit.builder.hasPolicies()) return pick(gate, 'permission', [], next);
  const refused = denied(gate, `text(${quote(`${tool} is not permitted: `)}, ${CHECKED}.reason)`);
  return check(gate, {
    id: kit.builder.fresh(name(gate, 'permission')),
    check: 'policy:authorize',
    ...(turn.stage === undefined ? {} : { input: { stage: quote(turn.stage) } }),
    next: pick(gate, 'permission.judged', [{ when: `${CHECKED}.ok == true`, to: next }], refused),
    fail: refused,
  });
}

function denied(gate: Gate, reason: Expr): NodeId {
  const type = 'PermissionError';
  const usual = addTrouble(gate, 'denied', { step: 'permission', tag: 'DENIED', reason }, type);
  const often = `size(${OBSERVATIONS}.filter(o, o.refused == "permission")) >= ${DENIALS_MAX}`;
  const ends = addStop(gate.kit, gate.turn, name(gate, 'permission.repeated'), { type, message: reason });
  return pick(gate, 'permission.denied', [{ when: often, to: ends }], usual);
}

/** The amounts that the call reserves must be free before a person is asked. A call above its rate waits. */
function addBudget(gate: Gate, next: NodeId): NodeId {
  const { kit, tool, turn } = gate;
  const { builder } = kit;
  const paced = builder.toolDef(tool)?.rate === undefined ? next : addRate(gate, next);
  return kit.pick(
    {
      id: builder.fresh(name(gate, 'budget')),
      ...step(gate, 'budget'),
      charges: agentMeterIds(builder.definitions.agentBudgets, turn.agent),
      needs: builder.tool(tool, {}).reserve,
    },
    [],
    paced,
  );
}

function addRate(gate: Gate, next: NodeId): NodeId {
  return gate.kit.check(
    { hint: name(gate, 'rate'), ...step(gate, 'rate') },
    {
      check: 'policy:rate',
      input: { tool: quote(gate.tool) },
      retry: { max: DEFERRALS_MAX, baseMs: 0, capMs: 0, on: ['rate_limit'] },
      next,
      fail: addTrouble(gate, 'rate', { step: 'rate', tag: 'RATE LIMITED', reason: 'error.message' }, 'RateLimitError'),
    },
  );
}

/** The effect class decides what the call needs: nothing, a person, or arguments from trusted sources. */
function addRisk(gate: Gate, first: NodeId): NodeId {
  const { kit, boundary, tool, dispatch } = gate;
  const needsPerson = boundary.tools.approve.includes(tool);
  const traced = provenanceCheck(kit.builder, tool, boundary);
  const harmless = isHarmless(kit.builder, tool);
  if (!needsPerson && traced === null && harmless) return addGuards(gate, false, pick(gate, 'risk', [], dispatch));
  const approval = addApproval(gate, first);
  const distrusted = boundary.untrusted === 'deny' ? addDistrusted(gate) : approval;
  const cases: Case[] = [
    { when: `${APPROVED} == true`, to: dispatch },
    addRejectedBefore(gate),
    // The same call may have happened already. The question mentions it.
    ...(harmless ? [] : [{ when: UNKNOWN_BEFORE, to: approval }]),
    ...(traced === null ? [] : [{ when: `${CHECKED}.ok != true`, to: distrusted }]),
  ];
  const risk = pick(gate, 'risk', cases, needsPerson ? approval : dispatch);
  return addGuards(gate, needsPerson, traced === null ? risk : addProvenance(gate, traced, risk, distrusted));
}

/** A person has rejected the same call before. */
function addRejectedBefore(gate: Gate): Case {
  const { kit, turn, tool, done } = gate;
  const reason = quote(`this call of ${tool} was rejected before`);
  return {
    when: `${OBSERVATIONS}.exists(o, o.refused == "approval" && o.tool == ${CALL}.name && o.args == ${CALL}.args)`,
    to: addRefusal(kit, turn, name(gate, 'risk.again'), { step: 'approval', tag: 'DENIED', reason }, done),
  };
}

function addProvenance(gate: Gate, which: PolicyCheck['check'], next: NodeId, fail: NodeId): NodeId {
  const { input, user = 'input', recalled, withheld } = gate.turn;
  return check(gate, {
    id: gate.kit.builder.fresh(name(gate, 'provenance')),
    check: which,
    input: {
      user,
      observations: OBSERVATIONS,
      ...present({ prompt: input['prompt'], recalled, withheld }),
    },
    next,
    fail,
  });
}

function addDistrusted(gate: Gate): NodeId {
  const reason = `text(${quote(`the arguments of ${gate.tool} have no trusted source: `)}, ${CHECKED}.reason)`;
  return addTrouble(gate, 'denied', { step: 'risk', tag: 'DENIED', reason }, 'UntrustedArgumentsError');
}

interface PolicyCheck {
  readonly id: NodeId;
  readonly check: `policy:${string}`;
  readonly input?: Input;
  readonly writes?: readonly Write[];
  readonly next: NodeId;
  /** A check that cannot be performed refuses the call. */
  readonly fail: NodeId;
}

function check(gate: Gate, { id, check: which, input, writes = [], next, fail }: PolicyCheck): NodeId {
  const { kit, tool, turn } = gate;
  const broken = kit.set(
    { hint: `${id.replace(/^~/, '')}.broken`, ...step(gate, which) },
    [set(CHECKED, { ok: 'false', reason: 'error.message' })],
    fail,
  );
  return kit.check(
    { id, ...step(gate, which.slice('policy:'.length)) },
    {
      check: which,
      input: { tool: quote(tool), args: `${CALL}.args`, agent: quote(turn.agent), ...input },
      writes: [...writes, set(CHECKED, 'it')],
      next,
      fail: broken,
    },
  );
}
