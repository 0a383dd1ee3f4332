/**
 * The provenance of values in a flow. A template may pass on the text of an agent that had read something from outside.
 * Such arguments of a tool node are traced to their sources, as those of an agent's own calls. A template that reads the input
 * or the result of a tool is the author's decision. The error of a failed node may quote others, so it is traced too. The call
 * needs no question if every path from the agent to it passes an approval.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Expr, Input, ToolDef } from '@sluice-internal/kernel/ir';
import { literal, object, quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, REMARKS, tracedBy } from '@sluice-internal/compile/lower';
import { reachableFrom } from '@sluice-internal/compile/graph';
import type { FlowNode } from './model.ts';
import type { Caller, Lowering, Nested } from './node-type.ts';

/** The arguments of the node that are traced, with the sources; null if they need no check. */
export function provenanceOf(
  lowering: Lowering,
  node: FlowNode,
  tool: string,
  params: { readonly [name: string]: Json },
  args: Input,
): Input | null {
  const { definitions, toolDef } = lowering.kit.builder;
  const { untrusted = 'ask', untrusted_input: foreign } = definitions.boundary ?? {};
  const hasSecrets = Object.values(definitions.tools).some(({ confidential }) => confidential === true);
  const traced = tracedBy({ def: toolDef(tool), hasSecrets }, { untrusted, profile: null });
  if (traced.length === 0 || definitions.toolApprovals.has(tool) || !isExposed(lowering, node)) return null;
  const traces = Object.entries(params).map(([key, param]) => [key, traceOf(lowering, node.id, param)] as const);
  const written = traces.flatMap(([key, trace]) => (isWritten(trace) ? [key] : []));
  const approved = traces.every(([, trace]) => isApproved(lowering, node, trace));
  if (written.length === 0 || approved) return null;
  const own = Object.keys(args).filter((key) => !written.includes(key));
  return {
    user: lowering.user,
    people: REMARKS,
    observations: OBSERVATIONS,
    ...readBefore(resultsBefore(lowering, node), errorsBefore(lowering, node)),
    args: object(written.map((key) => [key, args[key] ?? 'null'])),
    fixed: `[${[...own.map((key) => args[key] ?? 'null'), ...fixedTexts(params).map(quote)].join(', ')}]`,
    ...(foreign === undefined ? {} : { foreign: literal(foreign) }),
  };
}

/**
 * The values that vouch for arguments inside a sub-flow: the input of the run, and the fields of the sub-flow's input that come
 * neither from a model nor from an untrusted tool. Null if the whole input of the sub-flow vouches.
 */
export function vouchingInput(
  lowering: Lowering,
  node: FlowNode,
  input: { readonly [name: string]: Json },
): Expr | null {
  if (!isExposed(lowering, node)) return null;
  const isOwn = (key: string): boolean => {
    const trace = traceOf(lowering, node.id, input[key] ?? null);
    return !isWritten(trace) && !trace.foreign;
  };
  const own = Object.keys(input).filter(isOwn);
  if (own.length === Object.keys(input).length) return null;
  return object([
    ['run', lowering.user],
    ['given', object(own.map((key) => [key, lowering.expressions.template(node.id, undefined, input[key] ?? null)]))],
  ]);
}

interface Trace {
  /** The nodes that pass on what a model wrote. */
  readonly writers: readonly string[];
  /** A model of a flow outside wrote it, and the input of this flow brought it. */
  readonly given: boolean;
  /** A tool that others feed returned it. */
  readonly foreign: boolean;
}

const AUTHORED: Trace = { writers: [], given: false, foreign: false };

function isWritten({ writers, given }: Trace): boolean {
  return given || writers.length > 0;
}

/** The sources of a value with templates that a node reads. */
function traceOf(lowering: Lowering, reader: string, value: Json): Trace {
  const traces = lowering.expressions.meanings(reader, value).map(({ read, meaning }): Trace => {
    if (meaning.is === 'bare' || meaning.is === 'latest') return { ...AUTHORED, writers: agentsOf(lowering) };
    if (meaning.is === 'node') return traceOfNode(lowering, meaning.id);
    if (meaning.is === 'item') return traceOfItem(lowering, meaning.of);
    if (meaning.is !== 'context') return AUTHORED;
    if (read.path[0] === 'error') return OWN_FIELDS.has(read.path[1] ?? '') ? AUTHORED : traceOfError(lowering);
    return read.path[0] === 'event' ? traceOfInput(lowering, read.path[2]) : AUTHORED;
  });
  return {
    writers: traces.flatMap(({ writers }) => writers),
    given: traces.some(({ given }) => given),
    foreign: traces.some(({ foreign }) => foreign),
  };
}

function agentsOf({ flow }: Lowering): readonly string[] {
  return [...flow.nodes.values()].flatMap(({ id, facts }) => (facts.lastAgent === undefined ? [] : [id]));
}

function traceOfNode({ kit, flow }: Lowering, id: string): Trace {
  const node = flow.nodes.get(id);
  if (node === undefined || node.facts.choices !== undefined) return AUTHORED;
  const tool = node.facts.tool?.(node.value);
  return tool === undefined
    ? { ...AUTHORED, writers: [id] }
    : { ...AUTHORED, foreign: isForeign(kit.builder.toolDef(tool)) };
}

/** The fields of an error that the engine writes. The others come from the tool, the server or the model that failed. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['node', 'class', 'code']);

/** The nodes that an error route leaves. */
function traceOfError({ flow }: Lowering): Trace {
  const writers = [...flow.nodes.values()].flatMap(({ id, value }) => (value.on_error.length === 0 ? [] : [id]));
  return { writers, given: false, foreign: true };
}

function traceOfItem(lowering: Lowering, map: string): Trace {
  const node = lowering.flow.nodes.get(map);
  const items = node?.facts.items?.(node.value);
  return items === undefined ? AUTHORED : traceOf(lowering, map, items.over);
}

/** A field of the input of a sub-flow, or all of it, as the flow that calls it gives it. */
function traceOfInput({ caller }: Lowering, field: string | undefined): Trace {
  if (caller === null) return AUTHORED;
  const trace = traceOfGiven(caller, field);
  return { writers: [], given: isWritten(trace), foreign: trace.foreign };
}

/** The same in the flow that calls the sub-flow. */
function traceOfGiven({ lowering, node, input }: Caller, field?: string): Trace {
  if (input === undefined) return traceOfInput(lowering, field);
  return traceOf(lowering, node.id, field === undefined ? input : (input[field] ?? null));
}

/** The literal text of the parameters, without the templates. */
function fixedTexts(params: { readonly [name: string]: Json }): readonly string[] {
  return Object.values(params).flatMap((param) =>
    typeof param === 'string' && param.includes('{{') ? [param.replace(/\{\{.*?\}\}/gs, ' ')] : [],
  );
}

/** True if text from outside can reach a model: through a tool, an error, or an input that others wrote. */
function isExposed({ kit, graph, nested, caller }: Lowering, self: FlowNode): boolean {
  const { untrusted_input: foreign = false } = kit.builder.definitions.boundary ?? {};
  if (foreign !== false || graph.afterError(self.id)) return true;
  const others = [...nested.flow.nodes.values()].filter(({ id }) => id !== self.id);
  if (others.some((node) => bringsForeign(kit, nested, node))) return true;
  return caller !== null && isExposed(caller.lowering, caller.node);
}

/** True if the node, or a node of its sub-flow, calls a tool that others feed. */
function bringsForeign(kit: Lowering['kit'], nested: Nested, node: FlowNode): boolean {
  return toolsOf(nested, node).some((tool) => isForeign(kit.builder.toolDef(tool)));
}

/** The tools that the nodes of a flow and of its sub-flows can call. */
export function toolsIn(nested: Nested): readonly string[] {
  return [...nested.flow.nodes.values()].flatMap((node) => toolsOf(nested, node));
}

/** The tools that a node can call: its own, those of its agent, those of its sub-flow. */
export function toolsOf({ definitions, subs }: Nested, { id, value, facts }: FlowNode): readonly string[] {
  const sub = subs.get(id);
  if (sub !== undefined) return toolsIn(sub);
  const agent = facts.lastAgent?.(value) ?? '';
  const granted = Object.hasOwn(definitions.agents, agent) ? (definitions.agents[agent]?.tools ?? []) : [];
  return [facts.tool?.(value) ?? [], ...granted].flat();
}

function isForeign(def: ToolDef | undefined): boolean {
  return def?.trust === undefined || def.confidential === true;
}

/** True if a person was asked on every path from the nodes that wrote the value to the node that reads it. */
function isApproved({ flow, graph, caller }: Lowering, node: FlowNode, trace: Trace): boolean {
  const reaches = (starts: readonly string[]): boolean =>
    reachableFrom(starts, (id) => (flow.nodes.get(id)?.facts.choices === undefined ? graph.targets(id) : [])).has(
      node.id,
    );
  if (reaches(trace.writers)) return false;
  if (!trace.given || caller === null || !reaches([flow.value.entry])) return true;
  return isApproved(caller.lowering, caller.node, traceOfGiven(caller));
}

/** The values from outside that nodes of this flow, and of the flows that call it, have read. */
function resultsBefore(lowering: Lowering, self: FlowNode): readonly Expr[] {
  const { kit, flow, graph, slots, nested, caller } = lowering;
  const brings = (node: FlowNode): boolean => bringsForeign(kit, nested, node);
  const own = [...flow.nodes.values()].filter((node) => {
    if (node.id === self.id || graph.inBranches.get(node.id)?.has(self.id) === true) return false;
    const inner = [...(graph.inBranches.get(node.id) ?? [])].flatMap((id) => flow.nodes.get(id) ?? []);
    const isAgent = node.facts.shape === 'agent';
    return (!isAgent && brings(node)) || inner.some(brings);
  });
  const outer = caller === null ? [] : resultsBefore(caller.lowering, caller.node);
  return [...own.map((node) => node.facts.output(slots, node.id)), ...outer];
}

/** The error behind an error route of this flow, and the fields of its input that hold an error of the outer flow. */
function errorsBefore(lowering: Lowering, self: FlowNode): readonly Expr[] {
  const own = lowering.graph.afterError(self.id) ? ['(error == null ? [] : [error.type, error.message])'] : [];
  return [...own, ...givenErrors(lowering, self)];
}

function givenErrors({ expressions, caller }: Lowering, self: FlowNode): readonly Expr[] {
  let from = caller;
  while (from !== null && from.input === undefined) from = from.lowering.caller;
  if (from === null) return [];
  const { lowering, node, input = {} } = from;
  return Object.keys(input).flatMap((key) => {
    const trace = traceOf(lowering, node.id, input[key] ?? null);
    return trace.foreign && isWritten(trace)
      ? [expressions.template(self.id, undefined, `{{event.payload[${quote(key)}]}}`)]
      : [];
  });
}

/** The check of provenance lets a plain write have an error in fields that do not decide, so it gets errors apart. */
function readBefore(results: readonly Expr[], errors: readonly Expr[]): Input {
  return {
    before: `[${results.join(', ')}]`,
    ...(errors.length > 0 ? { errors: `[${errors.join(', ')}]` } : {}),
  };
}
