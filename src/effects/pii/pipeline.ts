/**
 * Runs an agent's PII pipeline over the input of each of its model calls. Other effects pass through unchanged.
 */
import type { Json } from '../../expr/json.ts';
import type { Command, RunId } from '../../ir/events.ts';
import type { Call, Performer } from '../../runtime/ports.ts';

/** Original values by token. They stay with the pipeline and never enter an event. */
type PiiTokens = ReadonlyMap<string, string>;

export interface PiiPipeline {
  /** Replaces personal data by tokens; returns the text and the original value of each token. */
  protect(text: string): { readonly text: string; readonly tokens: PiiTokens };
  /** Puts the original values back, for a trusted destination. */
  restore(text: string, tokens: PiiTokens): string;
}

/** The pipeline of an agent in a run; null for none. A token stands for the same value during the whole run. */
export type PiiPipelines = (agent: string, run: RunId) => PiiPipeline | null;

/** A model call with tokens in its input. */
export interface ProtectedCall extends Call {
  /** Puts back the original values of this call's tokens. */
  readonly restore?: (text: string) => string;
}

export interface ProtectedPerformer extends Omit<Performer, 'perform'> {
  perform(call: ProtectedCall): ReturnType<Performer['perform']>;
}

export function withPii(performer: ProtectedPerformer, pipelines?: PiiPipelines): Performer {
  if (pipelines === undefined) return performer;
  return {
    ...performer,
    perform: (call) => {
      const { kind, name: agent, run } = call.command;
      const pipeline = kind === 'model' ? pipelines(agent, run) : null;
      return performer.perform(pipeline === null ? call : protectedCall(call, pipeline));
    },
  };
}

function protectedCall(call: Call, pipeline: PiiPipeline): ProtectedCall {
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
    command: protectedCommand(call.command, protect),
    flow: call.flow,
    clock: call.clock,
    idempotencyKey: call.idempotencyKey,
    get signal() {
      return call.signal;
    },
    get onText() {
      return call.onText;
    },
    restore: (text) => pipeline.restore(text, known),
  };
}

/** `source` says which step made the call; it holds no text of a user and stays as it is. */
function protectedCommand(command: Command, protect: (value: Json) => Json): Command {
  const { source, ...rest } = command.input;
  const input = protect(rest) as Command['input'];
  return { ...command, input: source === undefined ? input : { ...input, source } };
}
