/**
 * The data of a question beside its text: its row of the escalation table and, for a question about a call, the fields that the
 * row demands. The answer is bound to all of it.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Expr, Input, ToolDef } from '@sluice-internal/kernel/ir';
import { escalationOf } from '@sluice-internal/kernel/catalog';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import { literal, quote } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Trouble } from './consequence.ts';

/** The row as a field of a question. */
export function escalationField(row: EscalationId): Input {
  return { escalation: literal({ ...escalationOf(row) }) };
}

/** The row of a call that may be a repetition: it is, or it is that of any call of the tool. */
export function repeatedField({ def, cost }: Pick<ShownCall, 'def' | 'cost'>): Input {
  const [repeated, usual] = [escalationOf('repeated_effect'), escalationOf(rowOfTool(def, cost))];
  return { escalation: `_walk.repeated ? ${literal({ ...repeated })} : ${literal({ ...usual })}` };
}

/** The row of a call that needs approval: by effect class first, then by category and price. */
export function rowOfTool(def: ToolDef | undefined, cost = 0): EscalationId {
  const { effect = 'write', category = '' } = def ?? {};
  if (effect === 'financial' || category === 'payment') return 'financial_commitment';
  if (effect === 'communication' || category === 'messages') return 'external_communication';
  if (onlyReads(effect) && cost > 0) return 'financial_commitment';
  return 'high_impact_mutation';
}

/** The row of a refused call that a person has to look at. */
const TROUBLE_ROWS: { readonly [trouble in Trouble | 'missing']: EscalationId } = {
  unregistered: 'ambiguous_goal',
  malformed: 'missing_input',
  missing: 'missing_input',
  denied: 'repeated_denial',
  rate: 'provider_outage',
  rejected: 'high_impact_mutation',
  unverified: 'low_confidence',
};

export interface RefusedCall {
  readonly trouble: Trouble | 'missing';
  /** The proposed call, and the reason of the refusal. */
  readonly tool: Expr;
  readonly args: Expr;
  readonly problem: Expr;
  /** Arguments that are missing, as a list. */
  readonly fields: Expr;
  /** The existing tools. */
  readonly tools: readonly string[];
  readonly observations: Expr;
}

/** The fields of a question about a refused call. */
export function refusalFields({ trouble, tool, args, problem, fields, tools, observations }: RefusedCall): Input {
  const row = TROUBLE_ROWS[trouble];
  const shown: Input = { tool, args, problem, ...escalationField(row) };
  if (row === 'missing_input') return { ...shown, fields };
  if (row === 'ambiguous_goal') return { ...shown, readings: literal([...tools]) };
  if (row === 'low_confidence') return { ...shown, observations };
  return shown;
}

interface ShownCall {
  readonly tool: string;
  readonly def: ToolDef | undefined;
  readonly cost: number;
  readonly args: Expr;
  readonly budgets: Json;
  /** Null if the run keeps no observations and approvals. */
  readonly observations: Expr | null;
}

/** The fields of a question about a call, by its row. */
export function callFields(call: ShownCall): Input {
  const { tool, def, args, budgets } = call;
  const row = rowOfTool(def, call.cost);
  const undo = def?.compensate ?? null;
  const common: Input = {
    tool: quote(tool),
    args,
    effect: quote(def?.effect ?? 'write'),
    touches: literal(touches(call)),
    rollback: undo === null ? 'null' : quote(undo),
    ...escalationField(row),
  };
  if (row === 'financial_commitment')
    return {
      ...common,
      amount: firstOf(args, AMOUNTS),
      payee: firstOf(args, PAYEES),
      budget: literal(budgets),
      agreed:
        call.observations !== null ? `${call.observations}.filter(o, o.approved == "approve").map(o, o.tool)` : '[]',
    };
  if (row === 'external_communication')
    return { ...common, recipients: firstOf(args, RECIPIENTS), draft: firstOf(args, DRAFTS) };
  return common;
}

const AMOUNTS = ['amount', 'total', 'price', 'cost', 'value', 'sum'];
const PAYEES = ['vendor', 'payee', 'supplier', 'recipient', 'to', 'account', 'iban', 'customer'];
const RECIPIENTS = ['to', 'recipients', 'recipient', 'channel', 'email', 'address', 'attendees', 'participants'];
const DRAFTS = ['body', 'content', 'text', 'message', 'draft', 'description', 'subject', 'title'];

/** The reach of the call, from its definition. */
function touches({ def, tool, cost }: ShownCall): Json {
  return {
    effect: def?.effect ?? 'write',
    category: def?.category ?? null,
    permission: def?.permission ?? tool,
    repeatable: def?.idempotent ?? false,
    reversible: (def?.compensate ?? null) !== null,
    costUsd: cost,
  };
}

/** The first of these arguments that was given; null where none was. */
function firstOf(args: Expr, names: readonly string[]): Expr {
  const given = `${literal([...names])}.filter(k, type(${args}) == map && ${args}[k] != null)`;
  return `cel.bind(given, ${given}, size(given) == 0 ? null : ${args}[given[0]])`;
}
