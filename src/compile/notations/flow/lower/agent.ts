/** Lowers an agent node: one turn. Without tools that is one model call; with tools it is as many as the turn needs, bounded. */
import type { AgentDef, Expr, NodeId, Write } from '../../../../ir/nodes.ts';
import { REPLY } from '../../../lower/agent-turn/turn.ts';
import { addTurn } from '../../../lower/agent-turn/agent-turn.ts';
import { path, quote } from '../../../expressions/cel-text.ts';
import { entered } from './errors.ts';
import { NO_RETRY } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';
import type { NodeOf } from '../schema.ts';
import { SLOT } from '../slots.ts';

export function lowerAgent(lowering: Lowering, prepared: Prepared, value: NodeOf<'agent'>): void {
  const { builder } = lowering;
  const { agents } = builder.definitions;
  const agent = Object.hasOwn(agents, value.agent) ? agents[value.agent] : undefined;
  if (agent !== undefined && agent.tools.length > 0) return lowerTurn(lowering, prepared, value, agent);
  const schema = agent?.output ?? null;
  builder.add(
    builder.idOf(value.id),
    {
      op: 'do',
      ...entered(lowering, prepared),
      effect: builder.model(value.agent, prepared.expr),
      ...(schema === null ? {} : { schema }),
      writes: outputs(lowering, value.id, 'it.text'),
      timeoutMs: null,
      retry: NO_RETRY,
      next: lowering.routes(prepared),
      ...lowering.errors(prepared),
    },
    prepared.node.at('id'),
  );
}

function lowerTurn(lowering: Lowering, prepared: Prepared, value: NodeOf<'agent'>, agent: AgentDef): void {
  const { builder } = lowering;
  const { tools, output: schema } = agent;
  const { charges = [], expects } = entered(lowering, prepared);
  const at = prepared.node.at('id');
  const said = builder.add(builder.fresh(`${value.id} said`), {
    op: 'let',
    label: { name: value.id },
    writes: outputs(lowering, value.id, path(REPLY, 'text')),
    next: lowering.routes(prepared),
  });
  const fail = failing(lowering, prepared);
  addTurn(builder, {
    agent: value.agent,
    hint: value.id,
    origin: value.id,
    enters: value.id,
    at,
    charges,
    begin: builder.idOf(value.id),
    opening: [{ slot: 'turn', mode: 'set', value: quote(value.id) }],
    input: { prompt: prepared.expr },
    tools,
    ...(schema === null ? {} : { schema }),
    ...(expects === undefined ? {} : { expects }),
    visitsMax: lowering.visitsMax(value.id),
    retry: NO_RETRY,
    next: said,
    fail,
    refused: fail,
  });
}

function failing(lowering: Lowering, prepared: Prepared): NodeId {
  const { builder } = lowering;
  const { id } = prepared.node;
  const { failed, fail } = lowering.errors(prepared);
  if (failed.length === 0) return fail;
  return builder.add(builder.fresh(`${id} failed`), {
    op: 'pick',
    label: { name: id },
    cases: failed,
    otherwise: fail,
  });
}

function outputs({ slots, expressions, out }: Lowering, id: string, value: Expr): readonly Write[] {
  const reply = { mode: 'reply', value } as const;
  return [
    { slot: slots.of(id), path: ['output'], ...reply },
    ...(expressions.uses.bare ? [{ slot: SLOT.agent, ...reply }] : []),
    ...out(value, 'reply'),
  ];
}
