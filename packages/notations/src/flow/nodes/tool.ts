/**
 * A tool node. Its author authorises the call, so it passes only the controls that others set: policies, the tool's rate limit,
 * the sources of its arguments, and an approval if the tool's own definition demands one.
 */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { DoNode, Expr, Input, ToolDef } from '@sluice-internal/kernel/ir';
import { POISON, jsonMap, name, serverTool, toolNamed } from '@sluice-internal/compile/document';
import { object, parseTemplate, path } from '@sluice-internal/compile/expressions';
import { controlsOfNode, isRisky, resultRules, setField } from '@sluice-internal/compile/lower';
import type { Call } from '@sluice-internal/compile/lower';
import { nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared, type Preparing } from '../node-type.ts';
import { checkParams } from './tool-params.ts';
import { provenanceOf } from '../provenance.ts';
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

/** The call. Its controls come before it. */
function lowerTool(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit } = lowering;
  const { tool, params } = prepared.node.value;
  const traced = (name: string): Input | undefined =>
    provenanceOf(lowering, prepared.node, name, params, prepared.parts) ?? undefined;
  const args = object(Object.entries(prepared.parts));
  const controls = controlsOfNode(kit, { tool, args, askedBy: lowering.askedBy, traced: traced(tool) });
  const call = { ...callOf(lowering, prepared), ...present({ controls }) };
  const step = lowering.entered(prepared);
  if (isRisky(kit.builder.toolDef(tool)))
    addRiskyCall(lowering, step, { prepared, tool, args: prepared.parts, call, traced });
  else kit.call(step, call);
}

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
