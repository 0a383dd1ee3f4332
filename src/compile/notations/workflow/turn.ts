/** A step whose agent has tools: one turn, in which it is asked, does what it asks for, and is asked again. */
import type { AgentDef, Expr, NodeId, Retry, Write } from '../../../ir/nodes.ts';
import { REPLY } from '../../lower/agent-turn/slots.ts';
import { addTurn } from '../../lower/agent-turn/agent-turn.ts';
import { path, quote } from '../../expressions/cel-text.ts';
import type { Lowering } from './lowering.ts';
import type { Step } from './model.ts';

export interface StepTurn {
  readonly agent: AgentDef;
  readonly prompt: Expr;
  readonly source: Expr;
  readonly retry: Retry;
  readonly writes: readonly Write[];
  readonly next: NodeId;
  readonly fail: NodeId;
}

export function addStepTurn(lowering: Lowering, step: Step, turn: StepTurn): NodeId {
  const { builder } = lowering;
  const { agent, prompt, source, retry, next, fail } = turn;
  const at = lowering.at(step);
  const begin = lowering.idOf(step);
  // The reply that ends the turn stands in a slot by then.
  const writes = turn.writes.map((write) =>
    write.value === 'it.text' ? { ...write, value: path(REPLY, 'text') } : write,
  );
  const said = builder.add(builder.fresh(`${step.name}.said`), { op: 'let', origin: step.name, writes, next }, at);
  return addTurn(builder, {
    agent: step.agent,
    hint: begin,
    origin: step.name,
    enters: step.name,
    at,
    begin,
    opening: [{ slot: 'turn', mode: 'set', value: quote(step.name) }],
    input: { prompt, source },
    tools: agent.tools,
    ...(agent.output === null ? {} : { schema: agent.output }),
    visitsMax: step.mode === 'Loop' ? step.iterations : 1,
    timeoutMs: step.timeoutMs,
    retry,
    next: said,
    fail,
    refused: fail,
  });
}
