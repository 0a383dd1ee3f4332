/** Invariants that are not expressions: a function that judges the result, and citations of retrieved documents. */
import { VERDICT_CHECK } from '@sluice-internal/kernel/ir';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS } from '@sluice-internal/compile/lower';
import { addObjection, addVerdict, type Gate } from './gates.ts';
import { stepOf } from './lowering.ts';
import type { Invariants } from './model.ts';
import { stageMeters } from './stage-budget.ts';
import { AGGREGATE, CHECKED, PLAN, REQUEST, SUMMARIES } from './slots.ts';

const UNTRUE = { check: 'invariant', type: 'InvariantError' } as const;
const UNGROUNDED = { check: 'invariant', type: 'GroundingError' } as const;

/** Reports to the breaker of the agent whether its result kept the invariants. The run then continues as without a breaker. */
export function addVerdicts(
  { l, stage, refused }: Gate,
  agent: string,
  next: NodeId,
): { readonly kept: NodeId; readonly broken: NodeId } {
  if (l.staged.definitions.protections.breaker === null) return { kept: next, broken: refused };
  const recorded = (what: string, ok: boolean, to: NodeId): NodeId =>
    l.kit.check(stepOf(l, stage, `invariants.${what}`), {
      check: VERDICT_CHECK,
      input: { agent: quote(agent), ok: String(ok) },
      into: CHECKED,
      next: to,
      fail: to,
    });
  return { kept: recorded('kept', true, next), broken: recorded('broken', false, refused) };
}

/** Calls a tool. The result holds if it returns true, or an object with `ok: true`. */
export function addFunction(
  gate: Gate,
  { tool, reason }: Invariants['tools'][number],
  index: number,
  next: NodeId,
): NodeId {
  const { l, stage } = gate;
  const hint = `function.${index + 1}`;
  const step = (what: string) => stepOf(l, stage, `${hint}.${what}`);
  const own: Expr = `type(${CHECKED}) == map && type(${CHECKED}.reason) == string && ${CHECKED}.reason != ""`;
  const given = reason === null ? quote(`\`${tool}\` does not accept the result`) : quote(reason);
  const refused = addObjection(gate, `${hint}.refused`, {
    ...UNTRUE,
    reason: `${own} ? ${CHECKED}.reason : ${given}`,
  });
  const broken = addObjection(gate, `${hint}.broken`, {
    ...UNTRUE,
    reason: `text(${quote(`\`${tool}\` cannot judge the result: `)}, error.message)`,
  });
  const holds = `${CHECKED} == true || (type(${CHECKED}) == map && ${CHECKED}.ok == true)`;
  const { validate } = l.staged;
  const limits = [l.builder.toolDef(tool)?.timeoutMs ?? null, validate.timeoutMs].filter((limit) => limit !== null);
  return l.kit.call(
    { ...step('call'), charges: stageMeters(l, validate) },
    {
      effect: l.builder.tool(tool, { aggregate: AGGREGATE, plan: PLAN, summaries: SUMMARIES, input: REQUEST }),
      into: CHECKED,
      timeoutMs: limits.length === 0 ? null : Math.min(...limits),
      next: l.kit.when(step('judged'), holds, next, refused),
      fail: broken,
    },
  );
}

/** The result cites at least so many documents that tools of the run read. */
export function addCites(
  gate: Gate,
  { least, reason }: Invariants['cites'][number],
  index: number,
  next: NodeId,
): NodeId {
  return addVerdict(
    gate,
    `cites.${index + 1}`,
    {
      check: 'policy:cites',
      input: { answer: AGGREGATE, observations: OBSERVATIONS, least: String(least) },
      objection: { ...UNGROUNDED, reason: reason === null ? `${CHECKED}.reason` : quote(reason) },
    },
    next,
  );
}
