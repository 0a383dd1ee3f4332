/** Agents as values. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CallSettings } from '@sluice-internal/kernel/ir';
import { budgetsOf, type Budgets } from './budgets.ts';
import { toJsonSchema, type InputOf, type StandardSchema } from './schema.ts';
import type { AnyTool } from './tool.ts';

declare const TYPES: unique symbol;

/**
 * The reply of an agent without an `output` schema: its text, or an object if the text is a JSON object.
 * @example
 * const reply: Reply = 'Hello.';
 */
export type Reply = string | { readonly [field: string]: Json };

/**
 * An agent with the type of its reply.
 * @example
 * const writer: Agent<'writer'> = agent('writer', { instructions: 'Write a letter.' });
 */
export interface Agent<Id extends string = string, Output = unknown> {
  readonly kind: 'agent';
  readonly id: Id;
  /** The entry under `agents` in a document. */
  readonly definition: { readonly [field: string]: unknown };
  readonly instructions: string;
  readonly model: string | undefined;
  readonly description: string | undefined;
  readonly tools: readonly AnyTool[];
  /** Exists in types only. */
  readonly [TYPES]?: Output;
}

/** A key that is undefined counts as absent, also under `exactOptionalPropertyTypes`. */
type OrUndefined<Fields> = { readonly [Key in keyof Fields]: Fields[Key] | undefined };

/**
 * Options of an agent.
 * @example
 * const options: AgentOptions<undefined> = { instructions: 'Look it up.', tools: ['http.get'], reasoningEffort: 'low' };
 */
export interface AgentOptions<Output> extends OrUndefined<CallSettings> {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** `provider/model`, or an alias of `models`. Default: the model of the engine. */
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
  /** Tools that the agent may call: values, or names of built-in tools and MCP tools. */
  readonly tools?: readonly (AnyTool | string)[] | undefined;
  /** The schema that the reply must fit. */
  readonly output?: Output | undefined;
  readonly budget?: Budgets | undefined;
  readonly boundary?: string | { readonly [field: string]: unknown } | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** The number of tool calls of one reply that run at once. Default 8. */
  readonly toolWidth?: number | undefined;
}

/**
 * Declares an agent.
 * @example
 * const triage = agent('triage', {
 *   model: 'openai/gpt-5-mini',
 *   instructions: 'Sort the message.',
 *   output: z.object({ kind: z.enum(['refund', 'other']) }),
 * });
 */
export function agent<const Id extends string, Output extends StandardSchema | undefined = undefined>(
  id: Id,
  options: AgentOptions<Output>,
): Agent<Id, Output extends StandardSchema ? InputOf<Output> : Reply> {
  const { tools = [], output, budget, ...rest } = options;
  // `toolWidth` is `tool_width` in a document.
  const fields = Object.entries(rest).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const definition = present({
    id,
    ...(Object.fromEntries(fields) as object),
    ...(tools.length === 0 ? {} : { tools: tools.map((used) => (typeof used === 'string' ? used : used.name)) }),
    output: output && toJsonSchema(output, `the output of \`${id}\``),
    budget: budget && budgetsOf(budget),
  });
  return Object.freeze({
    kind: 'agent' as const,
    id,
    definition,
    instructions: options.instructions ?? '',
    model: options.model,
    description: options.description,
    tools: tools.filter((used) => typeof used !== 'string'),
  });
}
