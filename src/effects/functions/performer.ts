/** Performs model calls and tool calls with functions of the caller: one for all models, and one for each tool. */
import type { Amounts } from '../../ir/dimensions.ts';
import type { Json } from '../../expr/json.ts';
import type { AgentDef } from '../../ir/nodes.ts';
import type { Settled } from '../../ir/events.ts';
import { fail } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import type { AttachmentRef } from '../../ir/attachment.ts';
import type { Attach, AttachmentSource } from '../attachments/source.ts';
import { promptOf, type Message } from '../prompt/prompt.ts';
import { toolResult } from '../../runtime/engine/plain-json.ts';

/**
 * The second parameter of a tool function.
 * @example
 * const pay: ToolFunction = async (args, { idempotencyKey, signal }: ToolContext) => ({ key: idempotencyKey, late: signal.aborted });
 */
export interface ToolContext {
  /** Aborted when the call times out or the run is cancelled. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call. No other call has it. */
  readonly idempotencyKey: string;
  readonly run: string;
  readonly node: string;
  readonly attempt: number;
  /** When the engine stops waiting, in milliseconds since 1970; null if there is no limit. */
  readonly deadline: number | null;
  /** Adds an image or a file to the run. The returned reference, in the result, shows it to models. */
  readonly attach: Attach;
}
/**
 * A function that performs a tool.
 * @example
 * const look: ToolFunction = ({ order }) => ({ order: order ?? null, state: 'shipped' });
 * const own = createEngine({ tools: { 'orders.look': look } });
 */
export type ToolFunction = (
  args: { readonly [field: string]: Json },
  context: ToolContext,
) => Json | void | Promise<Json | void>;
/**
 * The request to a model function.
 * @example
 * const model: ModelFunction = ({ agent: { id }, messages }: ModelRequest) => `${id} read ${messages.length} messages`;
 */
export interface ModelRequest extends Omit<ToolContext, 'attach'> {
  readonly agent: AgentDef;
  readonly messages: readonly Message[];
  /** Streams text to the listeners of the run. Undefined if the run has no listener. The returned reply is always recorded. */
  readonly hear?: ((text: string) => void) | undefined;
}
/**
 * The reply of a model function.
 * @example
 * const reply: ModelReply = { text: 'Hello.', usage: { inputTokens: 12, outputTokens: 2 } };
 */
export interface ModelReply {
  readonly text: string;
  /** The tool calls that the agent proposes. Ignored for an agent without tools. */
  readonly toolCalls?: readonly { readonly name: string; readonly args?: { readonly [field: string]: Json } }[];
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number; readonly costUsd?: number };
}
/**
 * One function that replies for every agent.
 * @example
 * const model: ModelFunction = async ({ agent: { id } }) => `Hello from ${id}.`;
 * const own = createEngine({ model });
 */
export type ModelFunction = (request: ModelRequest) => string | ModelReply | Promise<string | ModelReply>;

/** Functions that belong to one flow. A function for the name of a tool replaces them. */
export interface FlowTools {
  has(call: Call): boolean;
  /** A promise waits until there is a function, or until the call is aborted. */
  get(call: Call): ToolFunction | undefined | Promise<ToolFunction>;
}

export interface Functions {
  readonly model?: ModelFunction;
  readonly tools?: { readonly [name: string]: ToolFunction };
  readonly flowTools?: FlowTools | undefined;
  /** The largest result in characters. Default: 4 Mi. */
  readonly resultMax?: number;
  /** Adds an image or a file to the run of a call. */
  readonly attach?: ((call: Call, source: AttachmentSource) => Promise<AttachmentRef>) | undefined;
}

export function functionPerformer(functions: Functions): Performer {
  const { model, tools = {}, flowTools, resultMax, attach = noStore } = functions;
  return {
    perform: async (call): Promise<Settled> => {
      const { command, flow } = call;
      if (command.kind === 'model') {
        if (model === undefined) throw missing(`the agent \`${command.name}\` has no model`);
        const agent = flow.agents[command.name];
        if (agent === undefined) throw missing(`the agent \`${command.name}\` is not in the flow`);
        const reply = await model(new Request(call, agent));
        if (typeof reply === 'string') return { ok: true, value: { text: reply } };
        if (typeof reply?.text !== 'string') throw noText(command.name);
        return { ok: true, value: valueOf(command.name, reply), used: usageOf(reply) };
      }
      const { name } = command;
      const tool = Object.hasOwn(tools, name) ? tools[name] : await flowTools?.get(call);
      if (tool === undefined) throw missing(`the tool \`${name}\` has no implementation`);
      const given = await tool(
        (command.input['args'] ?? {}) as { [field: string]: Json },
        new FunctionContext(call, attach),
      );
      return { ok: true, value: toolResult(name, given ?? null, resultMax) };
    },
  };
}

/** Uses getters because most functions do not read the signal or the key, and creating them takes time. */
class Context implements Omit<ToolContext, 'attach'> {
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
  get deadline(): number | null {
    return this.#call.command.deadline;
  }
}

class FunctionContext extends Context implements ToolContext {
  readonly attach: Attach;
  constructor(call: Call, attach: NonNullable<Functions['attach']>) {
    super(call);
    this.attach = (source) => attach(call, source);
  }
}

async function noStore(): Promise<never> {
  throw missing('there is no store for attachments');
}

class Request extends Context implements ModelRequest {
  readonly agent: AgentDef;
  readonly #source: Call;
  #messages: readonly Message[] | null = null;
  constructor(call: Call, agent: AgentDef) {
    super(call);
    this.agent = agent;
    this.#source = call;
  }
  get hear(): ModelRequest['hear'] {
    return this.#source.onText;
  }
  get messages(): readonly Message[] {
    return (this.#messages ??= promptOf(this.#source.flow, this.#source.command));
  }
}

function valueOf(agent: string, { text, toolCalls = [] }: ModelReply): Json {
  if (toolCalls.length === 0) return { text };
  const calls = toolCalls.map(({ name, args = {} }, index) => ({ id: `c${index}`, name, args }));
  return toolResult(agent, { text, toolCalls: calls });
}

function usageOf({ usage }: ModelReply): Amounts {
  return {
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    // Rounded, because sums of floats are a little above or below the exact amount.
    costMicros: Math.round((usage?.costUsd ?? 0) * 1_000_000),
  };
}

function noText(agent: string): Error {
  const message = `the \`model\` function returned neither text nor an object with \`text\` for the agent \`${agent}\``;
  return fail('semantic', 'ResultError', message);
}

function missing(message: string): Error {
  return fail('fatal', 'NotConfiguredError', message);
}
