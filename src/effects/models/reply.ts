/**
 * What a model said, put together from a body or from a stream. Tool calls are read from the content, whatever the reason
 * for stopping; their arguments stay as the model wrote them until they have been read as JSON.
 */
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';

export interface ProposedCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly metadata: SharedV4ProviderMetadata | undefined;
}
export interface Thought {
  text: string;
  metadata: SharedV4ProviderMetadata | undefined;
}
export interface Reply {
  text: string;
  calls: ProposedCall[];
  thoughts: Thought[];
  finish: LanguageModelV4FinishReason | null;
  usage: LanguageModelV4Usage | null;
  metadata: SharedV4ProviderMetadata | undefined;
}

export function emptyReply(): Reply {
  return { text: '', calls: [], thoughts: [], finish: null, usage: null, metadata: undefined };
}

export function readBody(result: LanguageModelV4GenerateResult, structured: boolean): Reply {
  const reply = emptyReply();
  for (const part of result.content) addPart(reply, part);
  if (structured && result.structuredOutputText !== undefined) reply.text = result.structuredOutputText;
  return Object.assign(reply, { finish: result.finishReason, usage: result.usage, metadata: result.providerMetadata });
}

/** Fills `reply` as the stream comes, so that what was received before a failure is known. An error within it is thrown. */
export async function readStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reply: Reply,
  hear: Hearing,
): Promise<void> {
  const thoughts = new Map<string, Thought>();
  const summaries = new Set<string>();
  for await (const part of stream) {
    switch (part.type) {
      case 'raw':
        hear.raw(part.rawValue);
        break;
      case 'text-start':
        if (isSummary(part.providerMetadata)) summaries.add(part.id);
        break;
      case 'text-delta':
        if (summaries.has(part.id)) break;
        reply.text += part.delta;
        hear.text(part.delta);
        break;
      case 'reasoning-start':
        thoughts.set(part.id, { text: '', metadata: part.providerMetadata });
        reply.thoughts.push(thoughts.get(part.id) as Thought);
        break;
      case 'reasoning-delta':
      case 'reasoning-end': {
        const thought = thoughts.get(part.id);
        if (thought === undefined) break;
        if (part.type === 'reasoning-delta') thought.text += part.delta;
        thought.metadata = merged(thought.metadata, part.providerMetadata);
        break;
      }
      case 'tool-call':
        addPart(reply, part);
        break;
      case 'finish':
        Object.assign(reply, { finish: part.finishReason, usage: part.usage, metadata: part.providerMetadata });
        break;
      case 'error':
        if (!hear.unreadable(part.error)) throw new StreamError(part.error);
        break;
      default:
        break;
    }
  }
}

export interface Hearing {
  text(delta: string): void;
  raw(value: unknown): void;
  /** Whether an error is no more than an event that could not be read, so that the rest may still be heard. */
  unreadable(error: unknown): boolean;
}

/** A failure that a provider reported after it had begun to answer. */
export class StreamError extends Error {
  constructor(cause: unknown) {
    super('the provider broke off with an error', { cause });
    this.name = 'StreamError';
  }
}

function addPart(reply: Reply, part: LanguageModelV4Content): void {
  if (part.type === 'text') reply.text += isSummary(part.providerMetadata) ? '' : part.text;
  else if (part.type === 'reasoning') reply.thoughts.push({ text: part.text, metadata: part.providerMetadata });
  // What a provider did itself was never ours to allow, and is not ours to do again.
  else if (part.type === 'tool-call' && part.providerExecuted !== true)
    reply.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input, metadata: part.providerMetadata });
}

/** A provider that shortens the conversation by itself sends along what it made of it, which is nothing the model said. */
function isSummary(metadata: SharedV4ProviderMetadata | undefined): boolean {
  return Object.values(metadata ?? {}).some((fields) => fields?.['type'] === 'compaction');
}

function merged(
  before: SharedV4ProviderMetadata | undefined,
  more: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (before === undefined || more === undefined) return more ?? before;
  const both: SharedV4ProviderMetadata = { ...before };
  for (const [provider, fields] of Object.entries(more)) both[provider] = { ...both[provider], ...fields };
  return both;
}
