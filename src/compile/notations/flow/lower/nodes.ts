/** Lowers one authored node of each type but `parallel`. */
import type { DoNode, Expr, NodeId, ToolDef } from '../../../../ir/nodes.ts';
import type { EscalationId } from '../../../../catalog/escalations.ts';
import { object, path, quote } from '../../../expressions/cel-text.ts';
import { callFields, escalationField, rowOfTool } from '../../../lower/escalation-packet.ts';
import { rewriteNames } from '../../../expressions/rewrite.ts';
import { lowerAgent } from './agent.ts';
import { addGates, isGated } from './gate.ts';
import { entered, evaluated, raise } from './errors.ts';
import { lowerParallel } from './parallel.ts';
import { NO_RETRY } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';
import type { NodeOf } from '../schema.ts';
import { SLOT, outputOf } from '../slots.ts';

const [APPROVE, REJECT] = ['approve', 'reject'] as const;

export function lowerNode(lowering: Lowering, prepared: Prepared): void {
  const { value } = prepared.node;
  switch (value.type) {
    case 'agent':
      return lowerAgent(lowering, prepared, value);
    case 'tool':
      return lowerTool(lowering, prepared, value);
    case 'approval':
      return lowerApproval(lowering, prepared, value);
    case 'decision':
      return lowerDecision(lowering, prepared);
    case 'terminal':
      return lowerTerminal(lowering, prepared);
    case 'parallel':
      return lowerParallel(lowering, prepared, value);
  }
}

function lowerTool(lowering: Lowering, prepared: Prepared, value: NodeOf<'tool'>): void {
  const { builder, slots } = lowering;
  const { toolApprovals, toolChecks } = builder.definitions;
  const tool = builder.toolDef(value.tool);
  const asks = toolApprovals.has(value.tool);
  const gated = isGated(lowering, value.tool);
  const check = Object.hasOwn(toolChecks, value.tool) ? toolChecks[value.tool] : undefined;
  const undo = tool?.compensate ?? null;
  const call: DoNode = {
    op: 'do',
    ...(asks || gated ? { label: { name: value.id } } : entered(lowering, prepared)),
    effect: builder.tool(value.tool, prepared.args),
    ...takes(tool),
    ...(undo === null
      ? {}
      : {
          undo: {
            tool: undo,
            input: sameArguments(prepared),
            timeoutMs: builder.toolDef(undo)?.timeoutMs ?? tool?.timeoutMs ?? 0,
          },
        }),
    ...(tool === undefined || tool.output === true ? {} : { schema: tool.output }),
    ...(check === undefined ? {} : { accept: rewriteNames(check, ([root]) => (root === 'result' ? 'it' : null)) }),
    writes: [{ slot: slots.of(value.id), path: ['result'], mode: 'set', value: 'it' }, ...lowering.out('it', 'set')],
    timeoutMs: tool?.timeoutMs ?? null,
    retry: NO_RETRY,
    next: lowering.routes(prepared),
    ...lowering.errors(prepared),
  };
  const id = builder.add(
    asks || gated ? builder.fresh(`${value.id} call`) : builder.idOf(value.id),
    call,
    prepared.node.at('id'),
  );
  const asked = asks ? askFirst(lowering, prepared, value, id, !gated) : id;
  if (gated) addGates(lowering, prepared, value.tool, object(Object.entries(prepared.args)), asked);
}

/** The tool's own definition demands that somebody agrees to every call. */
function askFirst(lowering: Lowering, prepared: Prepared, value: NodeOf<'tool'>, call: NodeId, first: boolean): NodeId {
  const { builder } = lowering;
  const { budgets, toolCosts } = builder.definitions;
  const input = {
    message: quote(`Call ${value.tool}?`),
    ...callFields({
      tool: value.tool,
      def: builder.toolDef(value.tool),
      cost: toolCosts[value.tool] ?? 0,
      args: object(Object.entries(prepared.args)),
      budgets,
      observed: false,
    }),
  };
  const refused = raise(lowering, prepared, {
    class: 'policy',
    type: 'ApprovalRejectedError',
    message: `the call of \`${value.tool}\` was not approved`,
    code: 'PERMISSION_DENIED',
  });
  const cases = [{ when: `${SLOT.allowed} == ${quote(APPROVE)}`, to: call }];
  return builder.add(
    first ? builder.idOf(value.id) : builder.fresh(`${value.id} approval`),
    {
      op: 'do',
      ...(first ? entered(lowering, prepared) : { label: { name: value.id } }),
      effect: {
        kind: 'ask',
        about: value.tool,
        choices: [{ name: APPROVE }, { name: REJECT }],
        onExpiry: REJECT,
        code: 'CONFIRM_REQUIRED',
        askedBy: askedBy(lowering),
        input,
        reserve: {},
      },
      ...takes(builder.toolDef(value.tool)),
      writes: [{ slot: SLOT.allowed, mode: 'set', value: 'it.choice' }],
      timeoutMs: null,
      retry: NO_RETRY,
      next: builder.add(builder.fresh(`${value.id} allowed`), {
        op: 'pick',
        label: { name: value.id },
        cases,
        otherwise: refused,
      }),
      ...lowering.errors(prepared),
    },
    prepared.node.at('id'),
  );
}

function lowerApproval(lowering: Lowering, prepared: Prepared, value: NodeOf<'approval'>): void {
  const { builder } = lowering;
  const { id, choices, timeout, on_timeout: expiry } = value;
  builder.add(
    builder.idOf(id),
    {
      op: 'do',
      ...entered(lowering, prepared),
      effect: {
        kind: 'ask',
        about: id,
        choices: choices.map((name) => ({ name })),
        onExpiry: expiry ?? choices.at(-1) ?? '',
        code: 'CONFIRM_REQUIRED',
        askedBy: askedBy(lowering),
        input: { message: prepared.expr, ...escalationField(rowOfApproval(lowering, value)) },
        reserve: {},
      },
      writes: [{ slot: 'approvals', path: [id], mode: 'set', value: 'it.choice' }, ...lowering.out('it.choice', 'set')],
      timeoutMs: timeout === undefined ? null : Math.ceil(timeout * 1000),
      retry: NO_RETRY,
      next: lowering.routes(prepared),
      ...lowering.errors(prepared),
    },
    prepared.node.at('id'),
  );
}

/** What somebody agrees to is, as far as the flow says, what an answer leads to: the gravest of the tools that come next. */
function rowOfApproval({ builder, flow }: Lowering, { routes }: NodeOf<'approval'>): EscalationId {
  const { toolCosts } = builder.definitions;
  const rows = routes.map(({ to }): EscalationId => {
    const next = flow.nodes.get(to)?.value;
    return next?.type === 'tool' ? rowOfTool(builder.toolDef(next.tool), toolCosts[next.tool]) : 'high_impact_mutation';
  });
  const graver = ['financial_commitment', 'external_communication'] as const;
  return graver.find((row) => rows.includes(row)) ?? 'high_impact_mutation';
}

function lowerDecision(lowering: Lowering, prepared: Prepared): void {
  const { builder, slots } = lowering;
  const { id } = prepared.node;
  const decide = (at: NodeId, enters: boolean): NodeId =>
    builder.add(
      at,
      {
        op: 'let',
        ...(enters ? entered(lowering, prepared) : { label: { name: id } }),
        writes: [
          { slot: slots.of(id), path: ['output'], mode: 'set', value: prepared.expr },
          ...lowering.out(prepared.expr, 'set'),
        ],
        next: lowering.routes(prepared),
      },
      prepared.node.at('id'),
    );
  evaluated(lowering, prepared, [prepared.expr], decide);
}

function lowerTerminal(lowering: Lowering, prepared: Prepared): void {
  const { builder, slots } = lowering;
  const { id } = prepared.node;
  const finish = (at: NodeId, enters: boolean): NodeId =>
    builder.add(
      at,
      {
        op: 'let',
        ...(enters ? entered(lowering, prepared) : { label: { name: id } }),
        writes: [{ slot: slots.of(id), path: ['output'], mode: 'set', value: prepared.expr }],
        next: lowering.ending(outputOf(slots, id, 'terminal'), id),
      },
      prepared.node.at('id'),
    );
  evaluated(lowering, prepared, [prepared.expr], finish);
}

function takes(tool: ToolDef | undefined): Pick<DoNode, 'takes'> {
  return tool === undefined || tool.input === true ? {} : { takes: tool.input };
}

/** The compensation is given what the call was given, which the engine offers as `input`. */
function sameArguments({ args }: Prepared): { readonly [field: string]: Expr } {
  return Object.fromEntries(Object.keys(args).map((key) => [key, path('input', 'args', key)]));
}

function askedBy({ flow }: Lowering): string {
  return `flow:${flow.value.id}`;
}
