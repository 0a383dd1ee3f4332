/**
 * What happens whenever something enters an agent: the agent's own PII pipeline goes over it, and the agent is handed its
 * own memory and no other. A wrapper around whoever performs model calls; everything else passes through untouched.
 */
import type { CompiledFlow } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';
import type { Command, RunId } from '../ir/events.ts';
import type { Call, Clock, Performer } from '../runtime/ports.ts';
import { createMemoryStore, MemoryViolation, ScopedMemory } from './memory/scoped-memory.ts';

/** What stands for a value, and the value; kept by whoever made it, never in an event. */
export type PiiTokens = ReadonlyMap<string, string>;

export interface PiiPipeline {
  /** The text with everything personal replaced by tokens, and what each token stands for. */
  protect(text: string): { readonly text: string; readonly tokens: PiiTokens };
  /** The text with the originals put back, for a destination that may see them. */
  restore(text: string, tokens: PiiTokens): string;
}

/** Lets everything through as it is. */
export const NO_PII: PiiPipeline = { protect: (text) => ({ text, tokens: new Map() }), restore: (text) => text };

/** A call with what its agent owns: the memory, and the way back from tokens to values. */
export interface AgentCall extends Call {
  readonly memory?: ScopedMemory;
  /** Puts back what this call's pipeline replaced. */
  readonly restore?: (text: string) => string;
}
export interface AgentPerformer extends Omit<Performer, 'perform'> {
  perform(call: AgentCall): ReturnType<Performer['perform']>;
}

export interface BoundaryOptions {
  /** The pipeline of an agent in a run; tokens are stable for the whole run. */
  readonly pipelines?: (agent: string, run: RunId) => PiiPipeline;
  /** The memory that an agent owns; null where it owns none, and then it may not be called. */
  readonly memory?: (agent: string) => ScopedMemory | null;
}

export function withBoundary(performer: AgentPerformer, options: BoundaryOptions = {}): Performer {
  const { pipelines = () => NO_PII, memory = ownMemories() } = options;
  return {
    answer: (asked) => performer.answer?.(asked) ?? null,
    perform: (call) => {
      if (call.command.kind !== 'model') return performer.perform(call);
      const { name: agent, run } = call.command;
      const owned = memory(agent);
      if (owned === null || owned.owner !== agent)
        return Promise.reject(new MemoryViolation(agent, owned?.owner ?? agent, 'run without'));
      return performer.perform(new Entered(call, owned, pipelines(agent, run)));
    },
  };
}

/** Everything that was said is gone over; where the call comes from was not said by anybody. */
function protectedCommand(command: Command, protect: (value: Json) => Json): Command {
  const { source, ...said } = command.input;
  const input = protect(said) as Command['input'];
  return { ...command, input: source === undefined ? input : { ...input, source } };
}

function ownMemories(): (agent: string) => ScopedMemory {
  const store = createMemoryStore();
  const memories = new Map<string, ScopedMemory>();
  return (agent) => {
    let memory = memories.get(agent);
    if (memory === undefined) memories.set(agent, (memory = new ScopedMemory(agent, store)));
    return memory;
  };
}

/** What it does not need to be asked for is not made: most performers look at the command and nothing else. */
class Entered implements AgentCall {
  readonly command: Command;
  readonly memory: ScopedMemory;
  readonly #call: Call;
  readonly #pipeline: PiiPipeline;
  #known: Map<string, string> | null = null;

  constructor(call: Call, memory: ScopedMemory, pipeline: PiiPipeline) {
    this.#call = call;
    this.#pipeline = pipeline;
    this.memory = memory;
    // A long history is not walked for nothing.
    this.command = pipeline === NO_PII ? call.command : protectedCommand(call.command, (value) => this.#protect(value));
  }

  get flow(): CompiledFlow {
    return this.#call.flow;
  }
  get clock(): Clock {
    return this.#call.clock;
  }
  get signal(): AbortSignal {
    return this.#call.signal;
  }
  get idempotencyKey(): string {
    return this.#call.idempotencyKey;
  }
  get hear(): Call['hear'] {
    return this.#call.hear;
  }

  restore(text: string): string {
    return this.#pipeline.restore(text, this.#known ?? new Map());
  }

  #protect(value: Json): Json {
    if (typeof value === 'string') {
      const { text, tokens } = this.#pipeline.protect(value);
      for (const [token, original] of tokens) (this.#known ??= new Map()).set(token, original);
      return text;
    }
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map((item) => this.#protect(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#protect(item)]));
  }
}
