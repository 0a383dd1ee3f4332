/**
 * What happens whenever something enters an agent: the agent's own PII pipeline goes over it, and the agent is handed its
 * own memory and no other. A wrapper around whoever performs model calls; everything else passes through untouched.
 */
import type { Json } from '../core/json.ts';
import type { Command, RunId } from '../core/run.ts';
import type { Call, Performer } from './ports.ts';
import { createMemoryStore, MemoryViolation, ScopedMemory } from './scoped-memory.ts';

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
    perform: async (call) => {
      if (call.command.kind !== 'model') return performer.perform(call);
      const { name: agent, run } = call.command;
      const owned = memory(agent);
      if (owned === null || owned.owner !== agent)
        throw new MemoryViolation(agent, owned?.owner ?? agent, 'run without');
      return performer.perform(enter(call, owned, pipelines(agent, run)));
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
  return (agent) => new ScopedMemory(agent, store);
}

function enter(call: Call, memory: ScopedMemory, pipeline: PiiPipeline): AgentCall {
  const known = new Map<string, string>();
  const protect = (value: Json): Json => {
    if (typeof value === 'string') {
      const { text, tokens } = pipeline.protect(value);
      for (const [token, original] of tokens) known.set(token, original);
      return text;
    }
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map(protect);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, protect(item)]));
  };
  return {
    // A long history is not walked for nothing.
    command: pipeline === NO_PII ? call.command : protectedCommand(call.command, protect),
    flow: call.flow,
    clock: call.clock,
    memory,
    restore: (text) => pipeline.restore(text, known),
    // Both are made on demand by the call itself.
    get signal() {
      return call.signal;
    },
    get idempotencyKey() {
      return call.idempotencyKey;
    },
  };
}
