/** Performs model calls and tool calls with functions of the caller: one for all models, and one for each tool. */
import type { Json } from '@sluice-internal/kernel/expr';
import { LIMITS, costOf, limitsInput, priceIn } from '@sluice-internal/kernel/ir';
import type { AgentDef, AttachmentRef, Settled } from '@sluice-internal/kernel/ir';
import { fail, pure, toolResult } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { promptOf, refusedResult } from '@sluice-internal/platform';
import type { Attach, AttachmentSource, Message } from '@sluice-internal/platform';
import { withHeartbeat } from '@sluice-internal/tools/calls';
import type { Beat, ToolContext, ToolFunction } from '@sluice-internal/tools/calls';

/**
 * The request to a model function.
 * @example
 * const model: ModelFunction = ({ agent: { id }, messages }: ModelRequest) => `${id} read ${messages.length} messages`;
 */
export interface ModelRequest extends Omit<ToolContext, 'attach' | 'heartbeat' | 'result'> {
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
  /** Amounts that are absent or below zero are estimated if a budget limits them. The cost follows from the price of the model. */
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number; readonly costUsd?: number };
}
/**
 * One function that replies for every agent.
 * @example
 * const model: ModelFunction = async ({ agent: { id } }) => `Hello from ${id}.`;
 * const own = createEngine({ model });
 */
export type ModelFunction = (request: ModelRequest) => string | ModelReply | Promise<string | ModelReply>;

/** As much of a call as names its tool. */
export interface CallOfTool extends Pick<Call, 'flow' | 'pins'> {
  readonly command: Pick<Call['command'], 'kind' | 'name'>;
}

/** Functions that belong to one flow. A function for the name of a tool replaces them. */
export interface FlowTools {
  has(call: CallOfTool): boolean;
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
        const request = new Request(call, agent);
        const given = await model(request);
        const reply = typeof given === 'string' ? { text: given } : given;
        if (typeof reply?.text !== 'string') throw noText(command.name);
        return { ok: true, value: valueOf(command.name, reply), ...usageOf(call, request, reply) };
      }
      const { name } = command;
      const tool = Object.hasOwn(tools, name) ? tools[name] : await flowTools?.get(call);
      if (tool === undefined) throw missing(`the tool \`${name}\` has no implementation`);
      const args = (command.input['args'] ?? {}) as { [field: string]: Json };
      const given = await withHeartbeat(call, async (beat) => tool(args, new FunctionContext(call, attach, beat)));
      try {
        return { ok: true, value: toolResult(name, given ?? null, resultMax) };
      } catch (error) {
        throw refusedResult(call, error);
      }
    },
  };
}

/** Uses getters because most functions do not read the signal or the key, and creating them takes time. */
class Context implements Omit<ToolContext, 'attach' | 'heartbeat' | 'result'> {
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
  readonly result: Json;
  readonly #beat: Beat;
  constructor(call: Call, attach: NonNullable<Functions['attach']>, beat: Beat) {
    super(call);
    this.#beat = beat;
    this.attach = (source) => attach(call, source);
    this.result = call.command.input['result'] ?? null;
  }
  override get signal(): AbortSignal {
    return this.#beat.signal;
  }
  get heartbeat(): () => void {
    return this.#beat.beat;
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
  if (toolCalls.length === 0) return toolResult(agent, { text }, LIMITS.response);
  const calls = toolCalls.map(({ name, args = {} }, index) => ({ id: `c${index}`, name, args }));
  return toolResult(agent, { text, toolCalls: calls }, LIMITS.response);
}

/** Amounts that the function does not report are estimated if a budget limits them, so that no call counts as free. */
function usageOf({ flow, command }: Call, request: Request, { usage, ...reply }: ModelReply): Pick<Settled, 'used'> {
  const node = flow.nodes[command.node];
  const isLimited = node?.op === 'do' && limitsInput(flow, node);
  if (usage === undefined && !isLimited) return {};
  const estimate = (value: object): number => pure.countTokens(JSON.stringify(value));
  const inputTokens = amountOf(usage?.inputTokens) ?? (isLimited ? estimate(request.messages) : 0);
  const outputTokens = amountOf(usage?.outputTokens) ?? (isLimited ? estimate(reply) : 0);
  const costUsd = amountOf(usage?.costUsd);
  const tokens = { inputTokens, outputTokens };
  // Rounded, because sums of floats are a little above or below the exact amount.
  const costMicros =
    costUsd === undefined
      ? costOf(priceIn(flow, command.name, command.target), tokens)
      : Math.round(costUsd * 1_000_000);
  return { used: { ...tokens, costMicros } };
}

function amountOf(given: number | undefined): number | undefined {
  return isAmount(given) ? given : undefined;
}

/** Code without types can report any amount. An amount below zero would raise the budget. */
export function isAmount(given: unknown): given is number {
  return typeof given === 'number' && given >= 0 && given <= Number.MAX_SAFE_INTEGER;
}

function noText(agent: string): Error {
  const message = `the \`model\` function returned neither text nor an object with \`text\` for the agent \`${agent}\``;
  return fail('semantic', 'ResultError', message);
}

function missing(message: string): Error {
  return fail('fatal', 'NotConfiguredError', message);
}
