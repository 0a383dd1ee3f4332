/**
 * The types of the options of models that a program sees. They name no type of the AI SDK, so that a program that imports this
 * package compiles without the packages of the AI SDK, also if its compiler checks the types of libraries.
 */
import type { Json } from '../../expr/json.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';

/** A model object of an AI SDK provider package, such as `openai('gpt-5-mini')`. */
export interface ModelObject {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

export function isModelObject(value: unknown): value is ModelObject {
  const model = value as Partial<ModelObject> | null | undefined;
  return (
    model !== null &&
    (typeof model === 'object' || typeof model === 'function') &&
    typeof model.doGenerate === 'function' &&
    typeof model.doStream === 'function' &&
    ['v2', 'v3', 'v4'].includes(model.specificationVersion ?? '')
  );
}

export type Fetch = typeof globalThis.fetch;

interface ToolDescription {
  readonly description: string;
  readonly input: Json;
}
/** Describes a tool that the flow does not describe itself, such as one of an MCP server. */
export type Describe = (tool: string, flow: CompiledFlow) => ToolDescription | undefined;
