/** An agent node: one turn. Without tools it is one model call; with tools it is as many as the turn needs, within bounds. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentDef, Expr, NodeId, Write } from '@sluice-internal/kernel/ir';
import { POISON, checkVerifier, jsonMap, listed, name, verifierField } from '@sluice-internal/compile/document';
import { path, quote } from '@sluice-internal/compile/expressions';
import {
  IF_OBJECT,
  NO_RETRY,
  OBSERVATIONS,
  ONE_REPAIR,
  REPLY,
  VERDICT,
  addTurn,
  GUIDANCE,
  hearsAs,
  replyMode,
  set,
  verifierOf,
} from '@sluice-internal/compile/lower';
import type { AgentTurn, Step } from '@sluice-internal/compile/lower';
import { asText, type Expressions } from '../expressions.ts';
import { nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared } from '../node-type.ts';
import { SLOT } from '../slots.ts';
import type * as z from 'zod';

const schema = nodeSchema('agent', () => ({
  agent: name().describe('The id of the agent that takes one turn.'),
  input: jsonMap()
    .default({})
    .describe(
      'The prompt: `task` and `user_message` as text, other fields as labelled data. Without it, the input of the run. Templates work.',
    ),
  verifier: verifierField().describe(
    'The model that judges the last reply of the node and sees its calls. Default: none.',
  ),
}));
type Value = z.output<typeof schema>;

/** The prompt. */
type Parts = Expr;

export const agentNode = nodeType<typeof schema, Parts>({
  type: 'agent',
  schema,
  words: true,
  shape: 'agent',
  poison: { agent: POISON },
  check: checkAgent,
  expanded: ({ input }) => input,
  prepare: (node, { expressions }) => promptOf(node, expressions),
  lower: lowerAgent,
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: ({ value }, _, { agents }) => ({ output: agents[value.agent]?.output ?? true }),
  draw: ({ agent }) => ({ detail: agent }),
  lastAgent: ({ agent }) => agent,
});

function checkAgent(node: FlowNode<Value>, { document, report }: Checking): void {
  const { agents } = document.names;
  const { id, value } = node;
  if (value.verifier !== undefined)
    checkVerifier(value.verifier, document.names, (...path) => node.at('verifier', ...path), report);
  if (agents.has(value.agent)) return;
  const declared =
    agents.all.size === 0 ? 'Declare it under `agents`.' : `Declared agents: ${listed([...agents.all])}.`;
  report.error('unknown-agent', node.at('agent'), `unknown agent '${value.agent}' on flow node '${id}'`, {
    help: agents.help(value.agent, declared),
  });
}

/** Fields that are the words of the prompt, in this order. Every other field is data with its name as a label. */
const WORDS = ['task', 'user_message'];

/** Without `input` the agent gets the input of the run. With neither `task` nor `user_message` it gets all fields as JSON. */
function promptOf(node: FlowNode<Value>, expressions: Expressions): Expr {
  const { id, value } = node;
  const whole = expressions.template(id, node.located('input'), value.input);
  const fields = Object.entries(value.input);
  if (fields.length === 0) return 'text(input)';
  const words = WORDS.filter((key) => Object.hasOwn(value.input, key));
  if (words.length === 0) return `text(${whole})`;
  const textOf = (key: string): Expr => {
    const field = value.input[key] as Json;
    return asText(field, expressions.template(id, undefined, field));
  };
  const data = fields.filter(([key]) => !words.includes(key)).flatMap(([key]) => [quote(`\n\n${key}: `), textOf(key)]);
  const texts = words.flatMap((key, index) => (index === 0 ? [textOf(key)] : [quote('\n\n'), textOf(key)]));
  const [only = '""', ...more] = [...texts, ...data];
  return more.length === 0 ? only : `text(${[only, ...more].join(', ')})`;
}

function lowerAgent(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { value } = prepared.node;
  const { agents } = kit.builder.definitions;
  const id = lowering.agent(value.agent);
  const agent = Object.hasOwn(agents, id) ? agents[id] : undefined;
  const isJudged = verifierOf(value.verifier, null) !== null;
  if (agent !== undefined && (agent.tools.length > 0 || isJudged)) return lowerTurn(lowering, prepared, agent);
  const output = agent?.output ?? null;
  const effect = kit.builder.model(id, promptAt(lowering, prepared));
  kit.call(
    { ...lowering.entered(prepared), hears: hearsAs(id) },
    {
      effect: { ...effect, input: { ...effect.input, messages: GUIDANCE } },
      ...fitOf(lowering, value, output),
      writes: outputs(lowering, value, output, 'it.text'),
      timeoutMs: lowering.timeoutMs(prepared),
      retry: lowering.retry(prepared),
      next: lowering.routes(prepared),
      ...lowering.errors(prepared),
    },
  );
}

function lowerTurn(lowering: Lowering, prepared: Prepared<Value, Parts>, agent: AgentDef): void {
  const { timeout, retry } = prepared.node.value;
  if (timeout === undefined && retry === undefined) {
    const fail = lowering.failing(prepared, 'failed');
    addAgentTurn(lowering, prepared, agent, {
      step: lowering.entered(prepared),
      next: lowering.routes(prepared),
      fail,
    });
    return;
  }
  const { kit, expressions } = lowering;
  lowering.attempts(prepared, {
    gather: [
      { slot: OBSERVATIONS, mode: 'concat' },
      ...(expressions.uses.bare ? [{ slot: SLOT.agent, mode: 'last' as const }] : []),
      ...(prepared.node.value.verifier === undefined ? [] : [{ slot: VERDICT, mode: 'last' as const }]),
    ],
    body: (next) =>
      addAgentTurn(lowering, prepared, agent, {
        step: { ...lowering.part(prepared, 'turn'), expects: prepared.expects },
        next,
        fail: kit.failedEnd(),
      }),
  });
}

interface TurnWays {
  readonly step: Step;
  readonly next: NodeId;
  readonly fail: NodeId;
}

function addAgentTurn(
  lowering: Lowering,
  { node, parts, ...prepared }: Prepared<Value, Parts>,
  { tools, output }: AgentDef,
  { step, next, fail }: TurnWays,
): NodeId {
  const { kit } = lowering;
  const { id, enters, expects = [], charges = [], at } = step;
  const verifier = verifierOf(node.value.verifier, null);
  const done = lowering.part({ ...prepared, node, parts }, 'replied');
  return addTurn(kit.builder, {
    agent: lowering.agent(node.value.agent),
    hint: lowering.name(node.id),
    origin: lowering.name(node.id),
    ...present({ enters, at, begin: id, verifier: verifier ?? undefined }),
    charges,
    opening: [set('turn', quote(node.id))],
    input: { prompt: promptAt(lowering, { ...prepared, node, parts }) },
    user: lowering.user,
    tools,
    ...fitOf(lowering, node.value, output),
    ...(expects.length === 0 ? {} : { expects }),
    visitsMax: lowering.visitsMax(node.id) * (node.value.retry?.max_attempts ?? 1),
    retry: NO_RETRY,
    next: kit.set(done, outputs(lowering, node.value, output, path(REPLY, 'text')), next),
    fail,
    refused: fail,
  });
}

/** With the words of the person whose answer led here. */
function promptAt({ isTold }: Lowering, { node, parts }: Prepared<Value, Parts>): Expr {
  if (!isTold(node.id)) return parts;
  const said = `text("\\n\\nA person answered \\"", ${SLOT.said}.choice, "\\": ", ${SLOT.said}.text)`;
  return `text(${parts}, ${SLOT.said}.text == null || trim(${SLOT.said}.text) == "" ? "" : ${said})`;
}

/**
 * An object is expected if the agent has a schema for one, or if a field of the output decides a route or enters an argument. A field
 * that only texts read costs no call.
 */
function fitOf(
  { expressions, slots }: Lowering,
  { id, agent }: Value,
  schema: Json,
): Pick<AgentTurn, 'schema' | 'fit'> {
  if (schema !== null) return { schema };
  const fields = expressions.decidingFields(id, agent);
  if (fields.length > 0) return { fit: { ...ONE_REPAIR, reads: { of: [slots.of(id), 'output'], fields } } };
  if (!expressions.readsField(id, agent)) return {};
  return { fit: expressions.readsWhole(id, agent) ? ONE_REPAIR : IF_OBJECT };
}

function outputs(
  { slots, expressions, out, isTold }: Lowering,
  { id, agent }: Value,
  schema: Json,
  value: Expr,
): readonly Write[] {
  const mode = schema === null && expressions.readsField(id, agent) ? 'object' : replyMode(schema);
  return [
    { slot: slots.of(id), path: ['output'], mode, value },
    ...(expressions.uses.bare ? [{ slot: SLOT.agent, mode, value }] : []),
    ...(isTold(id) ? [set(SLOT.said, 'null')] : []),
    ...out(value, mode),
  ];
}
