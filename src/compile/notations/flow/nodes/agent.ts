/** An agent node: one turn. Without tools it is one model call; with tools it is as many as the turn needs, within bounds. */
import type { AgentDef, Expr, Write } from '../../../../ir/nodes.ts';
import type { Json } from '../../../../expr/json.ts';
import { jsonMap, name } from '../../../document/shape/fields.ts';
import { listed } from '../../../document/shape/fault-words.ts';
import { POISON } from '../../../document/shape/poison.ts';
import { nearest } from '../../../diagnose/nearest.ts';
import { path, quote } from '../../../expressions/cel-text.ts';
import { REPLY } from '../../../lower/agent-turn/turn.ts';
import { addTurn } from '../../../lower/agent-turn/agent-turn.ts';
import { NO_RETRY, set } from '../../../lower/kit.ts';
import { asText } from '../expressions.ts';
import type { Expressions } from '../expressions.ts';
import { nodeSchema } from '../model.ts';
import type { FlowNode } from '../model.ts';
import { nodeType } from '../node-type.ts';
import type { Checking, Lowering, Prepared } from '../node-type.ts';
import { SLOT } from '../slots.ts';
import type * as z from 'zod';

const schema = nodeSchema('agent', {
  agent: name().describe('The id of the agent that takes one turn.'),
  input: jsonMap()
    .default({})
    .describe('What it is told: `task`, else `user_message`, else all of it as JSON. Templates work.'),
});
type Value = z.output<typeof schema>;

interface Parts {
  readonly prompt: Expr;
}

export const agentNode = nodeType<typeof schema, Parts>({
  type: 'agent',
  schema,
  shape: 'agent',
  poison: { agent: POISON },
  check: checkAgent,
  expanded: told,
  prepare: (node, { expressions }) => ({ prompt: promptOf(node, expressions) }),
  lower: lowerAgent,
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: ({ value }, _, { agents }) => ({
    type: 'object',
    properties: { output: agents[value.agent]?.output ?? true },
  }),
  draw: ({ agent }) => ({ detail: agent }),
  lastAgent: ({ agent }) => agent,
});

function checkAgent(node: FlowNode<Value>, { document, report }: Checking): void {
  const { agents } = document.names;
  const { id, value } = node;
  if (agents.has(value.agent)) return;
  const near = nearest(value.agent, agents.all);
  const declared =
    agents.all.size === 0 ? 'Declare it under `agents`.' : `Declared agents: ${listed([...agents.all])}.`;
  report.error('unknown-agent', node.at('agent'), `unknown agent '${value.agent}' on flow node '${id}'`, {
    help: near === undefined ? declared : `Did you mean \`${near}\`?`,
  });
}

/** `task`, else `user_message`, else everything as JSON. */
function told({ input }: Value): Json {
  const key = ['task', 'user_message'].find((each) => Object.hasOwn(input, each));
  return key === undefined ? input : (input[key] as Json);
}

function promptOf(node: FlowNode<Value>, expressions: Expressions): Expr {
  const { id, value } = node;
  const whole = expressions.template(id, node.located('input'), value.input);
  const said = told(value);
  return said === value.input ? `text(${whole})` : asText(said, expressions.template(id, undefined, said));
}

function lowerAgent(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { value } = prepared.node;
  const { agents } = kit.builder.definitions;
  const agent = Object.hasOwn(agents, value.agent) ? agents[value.agent] : undefined;
  if (agent !== undefined && agent.tools.length > 0) return lowerTurn(lowering, prepared, agent);
  const output = agent?.output ?? null;
  kit.call(lowering.entered(prepared), {
    effect: kit.builder.model(value.agent, prepared.parts.prompt),
    ...(output === null ? {} : { schema: output }),
    writes: outputs(lowering, value.id, 'it.text'),
    next: lowering.routes(prepared),
    ...lowering.errors(prepared),
  });
}

function lowerTurn(lowering: Lowering, prepared: Prepared<Value, Parts>, agent: AgentDef): void {
  const { kit } = lowering;
  const { node, parts } = prepared;
  const { tools, output } = agent;
  const { id, enters, expects, charges = [], at } = lowering.entered(prepared);
  const said = kit.set(
    { ...lowering.part(prepared, 'said'), at: undefined },
    outputs(lowering, node.id, path(REPLY, 'text')),
    lowering.routes(prepared),
  );
  const fail = lowering.failing(prepared, 'failed');
  addTurn(kit.builder, {
    agent: node.value.agent,
    hint: node.id,
    origin: node.id,
    ...(enters === undefined ? {} : { enters }),
    ...(at === undefined ? {} : { at }),
    charges,
    ...(id === undefined ? {} : { begin: id }),
    opening: [set('turn', quote(node.id))],
    input: { prompt: parts.prompt },
    tools,
    ...(output === null ? {} : { schema: output }),
    ...(expects === undefined || expects.length === 0 ? {} : { expects }),
    visitsMax: lowering.visitsMax(node.id),
    retry: NO_RETRY,
    next: said,
    fail,
    refused: fail,
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
