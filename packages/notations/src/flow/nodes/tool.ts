/**
 * A tool node. Its author authorises the call, so it passes only the gates that others set: policies, the tool's rate limit,
 * and an approval if the tool's own definition demands one.
 */
import type { DoNode, Expr, Input, NodeId, Retry, ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { POISON, approversOfTool, jsonMap, name, serverTool, toolNamed } from '@sluice-internal/compile/document';
import { object, parseTemplate, path, quote } from '@sluice-internal/compile/expressions';
import { callFields, isRisky, resultRules, set, setField } from '@sluice-internal/compile/lower';
import type { Call, Step } from '@sluice-internal/compile/lower';
import { nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared, type Preparing } from '../node-type.ts';
import { SLOT } from '../slots.ts';
import { checkParams } from './tool-params.ts';
import { doubtMessage, provenanceOf } from '../provenance.ts';
import { addRiskyCall } from './tool-unknown.ts';
import type * as z from 'zod';

const schema = nodeSchema('tool', () => ({
  tool: name().describe('A tool of `tools`, a built-in tool such as `http.get`, or `server.tool` of an MCP server.'),
  params: jsonMap().default({}).describe('The arguments. Templates work.'),
}));
type Value = z.output<typeof schema>;

/** The arguments. */
type Parts = Input;

const RISKY: ReadonlySet<string> = new Set(['financial', 'infrastructure']);
const [APPROVE, REJECT] = ['approve', 'reject'] as const;
const VERDICT = '_verdict';
/** A call that comes too early waits and is checked again, this often at most. */
const RATE_RETRY: Retry = { max: 3, baseMs: 0, capMs: 0, on: ['rate_limit'] };

export const toolNode = nodeType<typeof schema, Parts>({
  type: 'tool',
  schema,
  shape: 'tool',
  poison: { tool: POISON },
  check: checkTool,
  expanded: ({ params }) => params,
  prepare: prepareTool,
  lower: lowerTool,
  output: (slots, id) => path(slots.of(id), 'result'),
  readable: ({ value: { tool } }, _, definitions) => ({
    result: definitions.tools[tool]?.output ?? serverTool(tool, definitions)?.output ?? true,
  }),
  draw: ({ tool }) => ({ detail: tool }),
  tool: ({ tool }) => tool,
});

function checkTool(node: FlowNode<Value>, { flow, document, tools, report }: Checking): void {
  const { tool } = node.value;
  if (!tools.has(tool))
    report.error('unknown-tool', node.at('tool'), `unknown tool '${tool}' on flow node '${node.id}'`, {
      help: tools.help(tool, 'Declare it under `tools`, or the server that has it under `mcp`.'),
    });
  const { sections } = document;
  const declared = Object.hasOwn(sections.value.tools, tool) ? sections.value.tools[tool] : undefined;
  const first = [...flow.nodes.values()].find(({ value, facts }) => facts.tool?.(value) === tool)?.id === node.id;
  // The server of an MCP tool has its schema.
  const hasSchema = declared?.input !== undefined || declared?.mcp !== undefined;
  if (declared?.effect === undefined || !first || !RISKY.has(declared.effect) || hasSchema) return;
  report.warning(
    'incomplete-tool',
    sections.key('tools', tool),
    `the tool \`${tool}\` has the effect \`${declared.effect}\`, but no schema for its arguments`,
    { help: 'Add `input`, a JSON Schema.' },
  );
}

function prepareTool(node: FlowNode<Value>, preparing: Preparing): Parts {
  const { expressions, definitions, report } = preparing;
  checkParams(node, expressions, definitions, report);
  const args = Object.entries(node.value.params).map(
    ([key, param]) => [key, argument(node, key, param, preparing)] as const,
  );
  return Object.fromEntries(args);
}

/** A missing value is null. For a text that the tool does not require, it is an empty text. */
function argument(node: FlowNode<Value>, key: string, param: Json, { expressions, definitions }: Preparing): Expr {
  const expr = expressions.template(node.id, node.located('params', key), param);
  const takes = toolNamed(node.value.tool, definitions)?.input as
    | { properties?: { [name: string]: { type?: Json } }; required?: readonly string[] }
    | undefined;
  const isOptional = takes?.required?.includes(key) !== true;
  const text = isOptional && takes?.properties?.[key]?.type === 'string' && typeof param === 'string';
  return text && parseTemplate(param).parts.length === 1 && param.includes('{{')
    ? `(${expr} == null ? "" : ${expr})`
    : expr;
}

/** The gates in front of the call, from the last to the first. The first of them enters the authored node. */
function lowerTool(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { tool } = prepared.node.value;
  const gates: ((step: Gate) => NodeId)[] = [(step) => addCall(lowering, prepared, step)];
  const { definitions } = kit.builder;
  const traced = provenanceOf(lowering, prepared.node, tool, prepared.node.value.params, prepared.parts);
  if (traced !== null) gates.unshift((step) => addProvenance(lowering, prepared, step, traced));
  if (definitions.toolApprovals.has(tool))
    gates.unshift((step) => addApproval(lowering, prepared, step, step.next, quote(`Call ${tool}?`)));
  if (kit.builder.toolDef(tool)?.rate !== undefined)
    gates.unshift((step) => addCheck(lowering, prepared, step, { check: 'policy:rate', retry: RATE_RETRY }, step.next));
  if (kit.builder.hasPolicies()) gates.unshift((step) => addPermission(lowering, prepared, step, step.next));
  const hints = ['call', 'approval', 'rate', 'permission'];
  let next: NodeId = '';
  for (const [index, gate] of gates.toReversed().entries()) {
    const first = index === gates.length - 1;
    const hint = gates.length === 1 ? 'call' : (hints[index] ?? 'gate');
    const step = first ? lowering.entered(prepared) : lowering.part(prepared, hint);
    next = gate({ ...step, next });
  }
}

function addCall(lowering: Lowering, prepared: Prepared<Value, Parts>, step: Gate): NodeId {
  const { kit } = lowering;
  const { tool } = prepared.node.value;
  const call = callOf(lowering, prepared);
  if (!isRisky(kit.builder.toolDef(tool))) return kit.call(step, call);
  return addRiskyCall(lowering, step, { prepared, tool, args: prepared.parts, call });
}

type Gate = ReturnType<Lowering['part']> & { readonly next: NodeId };

function callOf(lowering: Lowering, prepared: Prepared<Value, Parts>): Call {
  const { kit, slots } = lowering;
  const { builder } = kit;
  const { id, value } = prepared.node;
  const def = builder.toolDef(value.tool);
  return {
    effect: builder.tool(value.tool, prepared.parts),
    ...takes(def),
    ...resultRules(builder, value.tool, {
      args: object(Object.entries(prepared.parts)),
      arg: (field) => prepared.parts[field] ?? 'null',
    }),
    writes: [setField(slots.of(id), ['result'], 'it'), ...lowering.out('it', 'set')],
    timeoutMs: shorter(def?.timeoutMs ?? null, lowering.timeoutMs(prepared)),
    retry: lowering.retry(prepared),
    next: lowering.routes(prepared),
    ...lowering.errors(prepared),
  };
}

function shorter(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function takes(tool: ToolDef | undefined): Pick<DoNode, 'takes'> {
  return tool === undefined || tool.input === true ? {} : { takes: tool.input };
}

/** The tool's own definition demands an approval of every call. */
function addApproval(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  step: Step,
  next: NodeId,
  message: Expr,
): NodeId {
  const { kit } = lowering;
  const { tool } = prepared.node.value;
  const def = kit.builder.toolDef(tool);
  const { budgets, toolCosts } = kit.builder.definitions;
  const refused = lowering.raise(prepared, {
    type: 'ApprovalRejectedError',
    message: `the call of \`${tool}\` was not approved`,
  });
  const allowed = [{ when: `${SLOT.allowed} == ${quote(APPROVE)}`, to: next }];
  return kit.ask(step, {
    about: tool,
    askedBy: lowering.askedBy,
    choices: [APPROVE, REJECT],
    onExpiry: REJECT,
    code: 'CONFIRM_REQUIRED',
    purpose: 'tool_call',
    ...approversOfTool(kit.builder.definitions, tool),
    message,
    payload: callFields({
      tool,
      def,
      cost: toolCosts[tool] ?? 0,
      args: object(Object.entries(prepared.parts)),
      budgets,
      observed: false,
    }),
    ...takes(def),
    writes: [set(SLOT.allowed, 'it.choice')],
    next: kit.pick(lowering.part(prepared, 'allowed'), allowed, refused),
    ...lowering.errors(prepared),
  });
}

/** A person decides about arguments without a trusted source; or the call fails, if the boundary denies it. */
function addProvenance(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  step: Gate,
  { check, input, denies }: NonNullable<ReturnType<typeof provenanceOf>>,
): NodeId {
  const { tool } = prepared.node.value;
  const doubted = denies
    ? lowering.raise(prepared, {
        type: 'UntrustedArgumentsError',
        message: `the arguments of \`${tool}\` have no trusted source`,
      })
    : addApproval(lowering, prepared, lowering.part(prepared, 'doubted'), step.next, doubtMessage(tool, VERDICT));
  const vouched = [{ when: `${VERDICT}.ok == true`, to: step.next }];
  const judged = lowering.kit.pick(lowering.part(prepared, 'vouched'), vouched, doubted);
  return addCheck(lowering, prepared, step, { check, into: VERDICT, input }, judged);
}

function addPermission(lowering: Lowering, prepared: Prepared<Value, Parts>, step: Gate, next: NodeId): NodeId {
  const denied = lowering.raise(prepared, {
    type: 'PermissionError',
    message: `the call of \`${prepared.node.value.tool}\` is not permitted`,
  });
  const permitted = [{ when: `${VERDICT}.ok == true`, to: next }];
  const judged = lowering.kit.pick(lowering.part(prepared, 'permitted'), permitted, denied);
  return addCheck(lowering, prepared, step, { check: 'policy:authorize', into: VERDICT }, judged);
}

function addCheck(
  lowering: Lowering,
  prepared: Prepared<Value, Parts>,
  step: Gate,
  {
    input: more,
    ...check
  }: { readonly check: string; readonly into?: string; readonly retry?: Retry; readonly input?: Input },
  next: NodeId,
): NodeId {
  const args = object(Object.entries(prepared.parts));
  const input = { tool: quote(prepared.node.value.tool), args, ...more };
  return lowering.kit.check(step, { ...check, input, next, ...lowering.errors(prepared) });
}
