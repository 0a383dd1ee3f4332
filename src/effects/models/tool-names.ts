/** The tools that an agent may propose, under names that every provider accepts, and the way back to their own names. */
import type { JSONSchema7, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { AgentDef, CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';

export interface ToolDescription {
  readonly description: string;
  readonly input: Json;
}
/** What a tool takes, where the flow alone does not know: those of a server are known when it runs. */
export type Describe = (tool: string, flow: CompiledFlow) => ToolDescription | undefined;

export interface Offer {
  readonly tools: LanguageModelV4FunctionTool[];
  /** The name that a provider is told. */
  sent(name: string): string;
  /** The name behind one that a provider uses; one that was never offered stays as it is. */
  meant(name: string): string;
}

export function offerTools(flow: CompiledFlow, agent: AgentDef, describe?: Describe): Offer {
  const sent = new Map<string, string>();
  const meant = new Map<string, string>();
  const tools: LanguageModelV4FunctionTool[] = [];
  for (const name of agent.tools) {
    const tool = describe?.(name, flow) ?? flow.tools[name];
    if (tool === undefined || sent.has(name)) continue;
    const safe = unused(safeName(name), meant);
    sent.set(name, safe);
    meant.set(safe, name);
    tools.push({ type: 'function', name: safe, description: tool.description, inputSchema: objectSchema(tool.input) });
  }
  return { tools, sent: (name) => sent.get(name) ?? safeName(name), meant: (name) => meant.get(name) ?? name };
}

/** Dots, which our names have, are not allowed by most. */
function safeName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

function unused(name: string, taken: ReadonlyMap<string, string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
  return free;
}

/** Arguments are always an object; a tool that does not say what it takes, takes anything. */
function objectSchema(schema: Json): JSONSchema7 {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema))
    return { type: 'object', properties: {}, additionalProperties: true };
  return { type: 'object', properties: {}, ...(schema as JSONSchema7) };
}
