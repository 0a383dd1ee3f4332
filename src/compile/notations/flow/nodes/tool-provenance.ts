/**
 * The provenance of a tool node's arguments. A template may pass on what an agent wrote after it had read something from
 * outside. Such arguments are traced to their sources, as those of an agent's own calls. A template that reads the input or
 * the result of a tool is the author's decision. A person who was asked on every path to the node has approved the call.
 */
import type { Json } from '../../../../expr/json.ts';
import type { Expr, Input, ToolDef } from '../../../../ir/nodes.ts';
import { literal, object, path, quote } from '../../../expressions/cel-text.ts';
import { provenanceCheck } from '../../../lower/provenance-check.ts';
import { OBSERVATIONS } from '../../../lower/agent-turn/turn.ts';
import { reachableFrom } from '../../../verify/components.ts';
import type { FlowNode } from '../model.ts';
import type { Lowering } from '../node-type.ts';

/** The check that the arguments need, with the sources it reads; null if they need none. */
export function provenanceOf(
  lowering: Lowering,
  node: FlowNode,
  tool: string,
  params: { readonly [name: string]: Json },
  args: Input,
): { readonly check: string; readonly input: Input; readonly denies: boolean } | null {
  const { definitions, ...builder } = lowering.kit.builder;
  const { untrusted = 'ask', untrusted_input: foreign } = definitions.boundary ?? {};
  const check = provenanceCheck({ ...builder, definitions }, tool, { untrusted, profile: null });
  if (check === null || definitions.toolApprovals.has(tool)) return null;
  const written = Object.keys(params).filter((key) => readsAgent(lowering, params[key] ?? null));
  if (written.length === 0 || !isExposed(lowering, node) || isApproved(lowering, node)) return null;
  const own = Object.keys(args).filter((key) => !written.includes(key));
  return {
    check,
    denies: untrusted === 'deny',
    input: {
      user: 'input',
      observations: OBSERVATIONS,
      before: resultsBefore(lowering, node),
      args: object(written.map((key) => [key, args[key] ?? 'null'])),
      fixed: `[${[...own.map((key) => args[key] ?? 'null'), ...fixedTexts(params).map(quote)].join(', ')}]`,
      ...(foreign === undefined ? {} : { foreign: literal(foreign) }),
    },
  };
}

/** True if a template of the parameter reads a node that passes on what a model wrote. */
function readsAgent({ flow }: Lowering, param: Json): boolean {
  const templates = JSON.stringify(param).match(/\{\{.*?\}\}/gs) ?? [];
  const words = new Set(templates.flatMap((template) => template.match(/[\w-]+/g) ?? []));
  return [...flow.nodes.values()].some(({ id, value }) => words.has(id) && !['tool', 'approval'].includes(value.type));
}

/** The literal text of the parameters, without the templates. */
function fixedTexts(params: { readonly [name: string]: Json }): readonly string[] {
  return Object.values(params).flatMap((param) =>
    typeof param === 'string' && param.includes('{{') ? [param.replace(/\{\{.*?\}\}/gs, ' ')] : [],
  );
}

/** True if something from outside can reach a model: a tool that others feed, or an input that others wrote. */
function isExposed({ kit, flow }: Lowering, self: FlowNode): boolean {
  const { agents, boundary } = kit.builder.definitions;
  if (boundary?.untrusted_input !== undefined && boundary.untrusted_input !== false) return true;
  return [...flow.nodes.values()].some((node) => {
    const own = node.id === self.id ? undefined : node.facts.tool?.(node.value);
    const agent = (node.value as { agent?: unknown }).agent;
    const tools = typeof agent === 'string' && Object.hasOwn(agents, agent) ? (agents[agent]?.tools ?? []) : [];
    return [...(own === undefined ? [] : [own]), ...tools].some((tool) => isForeign(kit.builder.toolDef(tool)));
  });
}

function isForeign(def: ToolDef | undefined): boolean {
  return def?.trust === undefined || def.confidential === true;
}

/** True if every path to the node passes an approval. */
function isApproved({ flow, graph }: Lowering, node: FlowNode): boolean {
  const unasked = reachableFrom([flow.value.entry], (id) =>
    flow.nodes.get(id)?.value.type === 'approval' ? [] : graph.targets(id),
  );
  return !unasked.has(node.id);
}

/** The results of the other tool nodes that read what others wrote. */
function resultsBefore({ kit, flow, slots }: Lowering, node: FlowNode): Expr {
  const others = [...flow.nodes.values()].filter((each) => {
    const tool = each.facts.tool?.(each.value);
    return each.id !== node.id && tool !== undefined && isForeign(kit.builder.toolDef(tool));
  });
  return `[${others.map((each) => path(slots.of(each.id), 'result')).join(', ')}]`;
}

/** The words of the question. */
export function doubtMessage(tool: string, verdict: string): Expr {
  return `text(${quote(`Call ${tool}? Careful: `)}, ${verdict}.reason, ".")`;
}
