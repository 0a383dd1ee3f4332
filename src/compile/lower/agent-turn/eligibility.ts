/**
 * What a call that a model proposes goes through before it is made, in this order: schema, permission, budget and rate,
 * risk, approval. Each step is a node of its own, so that each is an event; each refusal has its own way on. The steps that
 * cannot refuse anything under this boundary are there too: a trace shows that they were passed.
 */
import { consequenceOf } from '../../document/boundary.ts';
import type { Case, CheckEffect, Expr, Input, NodeId, Write } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from './slots.ts';
import { CALL, addRefusal, addStop } from './told.ts';
import { addApproval } from './approval-gate.ts';
import { agentMeterIds } from '../budget-meters.ts';
import { quote } from '../../expressions/cel-text.ts';
import { addGuards } from './fail-closed.ts';
import { APPROVED, CHECKED, NO_RETRY, addQuestion, addTrouble, name, pick, step, tell } from './gate.ts';
import type { Gate } from './gate.ts';

/** How often in a row arguments may be mended. */
export const REPAIRS_MAX = 2;
/** How many denials in a run are taken for a mistake; the next is taken for an attempt. */
export const DENIALS_MAX = 2;
const CONTAINED: ReadonlySet<string> = new Set(['file_system', 'sandbox', 'review']);
/** How often a call that comes too early is put off. */
const DEFERRALS_MAX = 3;

/** Adds the steps and returns the first of them. */
export function addEligibility(gate: Gate): NodeId {
  const { builder } = gate;
  const first = builder.fresh(`${gate.turn.hint}.${gate.tool}.schema`);
  addSchema(gate, first, addPermission(gate, addBudget(gate, addRisk(gate, first))));
  return first;
}

/** The arguments in the form that the tool takes. Who drafted them may mend them twice; a field that is missing can be asked for. */
function addSchema(gate: Gate, at: NodeId, next: NodeId): void {
  const { boundary, tool } = gate;
  const reason = `text(${quote(`the arguments of ${tool} are not valid: `)}, ${CHECKED}.reason)`;
  const refusal = { step: 'schema', tag: 'INVALID', reason };
  const stop = { class: 'semantic', type: 'ArgumentError', code: 'VALIDATION_FAIL', message: reason } as const;
  const tired = addTrouble(gate, 'malformed', refusal, stop);
  // Who is told in any case is not spoken for by somebody else.
  const told = consequenceOf(boundary, 'malformed', null) === 'tell';
  const asks = boundary.decisions.includes('clarify') && !told;
  const again = boundary.decisions.includes('repair') ? tell(gate, refusal) : tired;
  const last = `tail(${OBSERVATIONS}, ${REPAIRS_MAX})`;
  const exhausted = `size(${last}) == ${REPAIRS_MAX} && ${last}.all(o, o.refused == "schema")`;
  const cases: Case[] = [
    { when: `${CHECKED}.ok == true`, to: next },
    ...(asks
      ? [
          {
            when: `${exhausted} && size(${CHECKED}.missing) > 0`,
            to: addQuestion(
              gate,
              'missing',
              `text(${quote(`${tool} needs: `)}, join(${CHECKED}.missing, ", "))`,
              refusal,
              stop,
            ),
          },
        ]
      : []),
    { when: exhausted, to: tired },
  ];
  const judged = pick(gate, 'schema.judged', cases, again);
  check(
    gate,
    at,
    'policy:arguments',
    { raw: `${CALL}.raw` },
    [{ slot: CALL, path: ['args'], mode: 'set', value: 'it.args' }],
    judged,
    tired,
  );
}

/** Denied by name or by policy. The third denial of a run is no slip any more. */
function addPermission(gate: Gate, next: NodeId): NodeId {
  const { builder, boundary, tool, turn } = gate;
  const denied = (reason: Expr): NodeId => {
    const stop = { class: 'policy', type: 'PermissionError', code: 'PERMISSION_DENIED', message: reason } as const;
    const usual = addTrouble(gate, 'denied', { step: 'permission', tag: 'DENIED', reason }, stop);
    const often = `size(${OBSERVATIONS}.filter(o, o.refused == "permission")) >= ${DENIALS_MAX}`;
    return pick(
      gate,
      'permission.denied',
      [{ when: often, to: addStop(builder, turn, { ...stop, hint: name(gate, 'permission.repeated') }) }],
      usual,
    );
  };
  if (boundary.tools.deny.includes(tool))
    return pick(gate, 'permission', [], denied(quote(`the boundary does not let ${turn.agent} call ${tool}`)));
  if (!builder.hasPolicies()) return pick(gate, 'permission', [], next);
  const refused = denied(`text(${quote(`${tool} is not permitted: `)}, ${CHECKED}.reason)`);
  const judged = pick(gate, 'permission.judged', [{ when: `${CHECKED}.ok == true`, to: next }], refused);
  return check(gate, builder.fresh(name(gate, 'permission')), 'policy:authorize', {}, [], judged, refused);
}

/** What the call will need must be there before anybody is asked about it; a call that is too early waits. */
function addBudget(gate: Gate, next: NodeId): NodeId {
  const { builder, tool } = gate;
  const def = builder.toolDef(tool);
  const paced = def?.rate === undefined ? next : addRate(gate, next);
  return builder.add(
    builder.fresh(name(gate, 'budget')),
    {
      op: 'pick',
      ...step(gate, 'budget'),
      cases: [],
      otherwise: paced,
      charges: agentMeterIds(builder.definitions.agentBudgets, gate.turn.agent),
      needs: builder.tool(tool, {}).reserve,
    },
    gate.turn.at,
  );
}

function addRate(gate: Gate, next: NodeId): NodeId {
  const { builder, tool } = gate;
  const reason = 'error.message';
  const late = addTrouble(
    gate,
    'rate',
    { step: 'rate', tag: 'RATE LIMITED', reason },
    { class: 'rate_limit', type: 'RateLimitError', code: 'UNAVAILABLE_DEP', message: reason },
  );
  return builder.add(
    builder.fresh(name(gate, 'rate')),
    {
      op: 'do',
      ...step(gate, 'rate'),
      effect: { kind: 'check', check: 'policy:rate', input: { tool: quote(tool) }, reserve: {} },
      writes: [],
      timeoutMs: null,
      retry: { max: DEFERRALS_MAX, baseMs: 0, capMs: 0, on: ['rate_limit'] },
      next,
      failed: [],
      fail: late,
    },
    gate.turn.at,
  );
}

/** Which class of effect it is decides what it takes: nothing, a person, or arguments that somebody vouches for. */
function addRisk(gate: Gate, first: NodeId): NodeId {
  const { builder, boundary, tool, dispatch, turn } = gate;
  const { effect = 'write', category = '' } = builder.toolDef(tool) ?? {};
  const needsPerson = boundary.tools.approve.includes(tool);
  // What stays within the run's own folder or sandbox reaches nobody, wherever its arguments come from.
  const contained = effect === 'write' && CONTAINED.has(category);
  const traced = effect !== 'read' && !contained && boundary.untrusted !== 'off';
  if (!needsPerson && !traced) return addGuards(gate, false, pick(gate, 'risk', [], dispatch));
  const approval = addApproval(gate, first);
  const before = `${OBSERVATIONS}.exists(o, o.refused == "approval" && o.tool == ${CALL}.name && o.args == ${CALL}.args)`;
  const asked: Case[] = [
    { when: `${APPROVED} == true`, to: dispatch },
    {
      when: before,
      to: addRefusal(
        builder,
        turn,
        {
          hint: name(gate, 'risk.again'),
          step: 'approval',
          tag: 'DENIED',
          reason: quote(`this call of ${tool} was rejected before`),
        },
        gate.done,
      ),
    },
  ];
  const doubt = `text(${quote(`the arguments of ${tool} are not vouched for: `)}, ${CHECKED}.reason)`;
  const distrusted =
    boundary.untrusted === 'deny'
      ? addTrouble(
          gate,
          'denied',
          { step: 'risk', tag: 'DENIED', reason: doubt },
          { class: 'guardrail', type: 'UntrustedArgumentsError', code: 'UNSAFE_DETECTION', message: doubt },
        )
      : approval;
  const doubts: Case[] = traced ? [{ when: `${CHECKED}.ok != true`, to: distrusted }] : [];
  const risk = pick(gate, 'risk', [...asked, ...doubts], needsPerson ? approval : dispatch);
  const sources: Input = {
    user: 'input',
    observations: OBSERVATIONS,
    ...(turn.input['prompt'] === undefined ? {} : { prompt: turn.input['prompt'] }),
  };
  const entry = traced
    ? check(gate, builder.fresh(name(gate, 'provenance')), 'policy:provenance', sources, [], risk, distrusted)
    : risk;
  return addGuards(gate, needsPerson, entry);
}

/** A check that cannot be made refuses. */
function check(
  gate: Gate,
  at: NodeId,
  which: string,
  more: Input,
  writes: readonly Write[],
  next: NodeId,
  fail: NodeId,
): NodeId {
  const { builder, tool, turn } = gate;
  const effect: CheckEffect = {
    kind: 'check',
    check: which,
    input: { tool: quote(tool), args: `${CALL}.args`, agent: quote(turn.agent), ...more },
    reserve: {},
  };
  const broken = builder.add(
    builder.fresh(`${at.replace(/^~/, '')}.broken`),
    {
      op: 'let',
      ...step(gate, which),
      writes: [{ slot: CHECKED, mode: 'set', value: { ok: 'false', reason: 'error.message' } }],
      next: fail,
    },
    turn.at,
  );
  return builder.add(
    at,
    {
      op: 'do',
      ...step(gate, which.slice('policy:'.length)),
      effect,
      writes: [...writes, { slot: CHECKED, mode: 'set', value: 'it' }],
      timeoutMs: null,
      retry: NO_RETRY,
      next,
      failed: [],
      fail: broken,
    },
    turn.at,
  );
}
