/** Performs commands with functions of the caller's own: a model is one function, each tool another. */
import type { Json } from '../../expr/json.ts';
import type { Amounts } from '../../ir/nodes.ts';
import type { AgentDef } from '../../ir/nodes.ts';
import type { Settled } from '../../ir/events.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { promptOf } from '../prompt/prompt.ts';
import type { Message } from '../prompt/prompt.ts';
import { toolResult } from '../../runtime/engine/plain-json.ts';

export interface ToolContext {
  /** Aborted when the call is no longer wanted. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call, and for no other call. */
  readonly idempotencyKey: string;
  readonly run: string;
  readonly node: string;
  readonly attempt: number;
}
export type ToolFunction = (
  args: { readonly [field: string]: Json },
  context: ToolContext,
) => Json | void | Promise<Json | void>;
export interface ModelRequest extends ToolContext {
  readonly agent: AgentDef;
  readonly messages: readonly Message[];
  /** Passes on what is said while it is said; undefined where nobody listens. The reply is what is returned all the same. */
  readonly hear?: ((text: string) => void) | undefined;
}
export interface ModelReply {
  readonly text: string;
  /** What the agent wants to call. Where it has no tools, nobody looks at it. */
  readonly toolCalls?: readonly { readonly name: string; readonly args?: { readonly [field: string]: Json } }[];
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number; readonly costUsd?: number };
}
export type ModelFunction = (request: ModelRequest) => string | ModelReply | Promise<string | ModelReply>;

export interface Functions {
  readonly model?: ModelFunction;
  readonly tools?: { readonly [name: string]: ToolFunction };
  /** Characters of a result that are kept. Default 4 Mi. */
  readonly resultMax?: number;
}

export function functionPerformer({ model, tools = {}, resultMax }: Functions): Performer {
  return {
    perform: async (call): Promise<Settled> => {
      const { command, flow } = call;
      if (command.kind === 'model') {
        if (model === undefined) throw missing(`agent \`${command.name}\` has no model to run on`);
        const agent = flow.agents[command.name];
        if (agent === undefined) throw missing(`agent \`${command.name}\` is not in the flow`);
        const said = await model(new Request(call, agent));
        if (typeof said === 'string') return { ok: true, value: { text: said } };
        if (typeof said?.text !== 'string') throw silent(command.name);
        return { ok: true, value: replyOf(command.name, said), used: usedOf(said) };
      }
      const { name } = command;
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (tool === undefined) throw missing(`the tool \`${name}\` has no implementation`);
      const given = await tool((command.input['args'] ?? {}) as { [field: string]: Json }, new Context(call));
      return { ok: true, value: toolResult(name, given ?? null, resultMax) };
    },
  };
}

/** Getters, because most functions never look at the signal or the key, and making them is not free. */
class Context implements ToolContext {
  readonly #call: Call;
  constructor(call: Call) {
    this.#call = call;
  }
  get signal(): AbortSignal {
    return this.#call.signal;
  }
  get idempotencyKey(): string {
    return this.#call.idempotencyKey;
  }
  get run(): string {
    return this.#call.command.run;
  }
  get node(): string {
    return this.#call.command.node;
  }
  get attempt(): number {
    return this.#call.command.attempt;
  }
}

class Request extends Context implements ModelRequest {
  readonly agent: AgentDef;
  readonly #of: Call;
  #messages: readonly Message[] | null = null;
  constructor(call: Call, agent: AgentDef) {
    super(call);
    this.agent = agent;
    this.#of = call;
  }
  get hear(): ModelRequest['hear'] {
    return this.#of.hear;
  }
  get messages(): readonly Message[] {
    return (this.#messages ??= promptOf(this.#of.flow, this.#of.command));
  }
}

function replyOf(agent: string, { text, toolCalls = [] }: ModelReply): Json {
  if (toolCalls.length === 0) return { text };
  const calls = toolCalls.map(({ name, args = {} }, index) => ({ id: `c${index}`, name, args }));
  return toolResult(agent, { text, toolCalls: calls });
}

function usedOf({ usage }: ModelReply): Amounts {
  return {
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    // To the nearest: what a float adds to a cent is not spent.
    costMicros: Math.round((usage?.costUsd ?? 0) * 1_000_000),
  };
}

function silent(agent: string): PerformError {
  const message = `what answers for the agent \`${agent}\` gave neither text nor an object with \`text\``;
  return new PerformError({ class: 'semantic', type: 'ResultError', message });
}

function missing(message: string): PerformError {
  return new PerformError({ class: 'fatal', type: 'NotConfiguredError', message });
}
