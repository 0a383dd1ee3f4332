/**
 * A model's reply, read from a response body or a stream. Its parts keep their order and the provider's metadata, because
 * providers reject a conversation whose reasoning or item ids differ from what they sent.
 */
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { StreamedPart } from '@sluice-internal/engine/ports';

type Metadata = SharedV4ProviderMetadata | undefined;

interface TextPart {
  readonly type: 'text' | 'reasoning';
  text: string;
  metadata: Metadata;
}
/** A proposed tool call. `input` is the text of the arguments as the model wrote it. */
export interface CallPart {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly metadata: Metadata;
}
/** Content that only its provider understands. */
interface CustomPart {
  readonly type: 'custom';
  readonly kind: `${string}.${string}`;
  readonly metadata: Metadata;
}
export type ReplyPart = TextPart | CallPart | CustomPart;

export interface Reply {
  parts: ReplyPart[];
  finish: LanguageModelV4FinishReason | null;
  usage: LanguageModelV4Usage | null;
  metadata: Metadata;
}

export function emptyReply(): Reply {
  return { parts: [], finish: null, usage: null, metadata: undefined };
}

export function textOf({ parts }: Reply, structured = false): string {
  const texts = parts.filter((part): part is TextPart => part.type === 'text' && !isSummary(part.metadata));
  const final = structured
    ? texts.findLast(({ metadata }) => fieldOf(metadata, 'phase') === 'final_answer')
    : undefined;
  const item = fieldOf(final?.metadata, 'itemId');
  const shown = final === undefined ? texts : texts.filter(({ metadata }) => fieldOf(metadata, 'itemId') === item);
  return shown.map(({ text }) => text).join('');
}

export function callsOf({ parts }: Reply): CallPart[] {
  return parts.filter((part) => part.type === 'call');
}

/** A field of the provider with a part, such as the id of its item. */
export function fieldOf(metadata: Metadata, field: string): unknown {
  return Object.values(metadata ?? {}).find((fields) => fields?.[field] !== undefined)?.[field];
}

export function readBody(result: LanguageModelV4GenerateResult, reply: Reply): void {
  reply.parts = result.content.flatMap(partOf);
  reply.finish = result.finishReason;
  reply.usage = result.usage;
  reply.metadata = result.providerMetadata;
}

export interface StreamListener {
  /** The text, the reasoning and the arguments of tool calls as they arrive. */
  text(delta: string, part: StreamedPart): void;
  /** Every event of the stream, as the provider sent it. */
  raw(value: unknown): void;
  /** Warnings of the AI SDK about the request. */
  warned(warnings: readonly SharedV4Warning[]): void;
  /** Returns true if the error concerns one unreadable event only, so that reading can continue. */
  unreadable(error: unknown): boolean;
}

/** Fills `reply` while the stream arrives, so after a failure the caller has the first part. Throws stream errors. */
export async function readStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reply: Reply,
  listener: StreamListener,
): Promise<void> {
  const open = new Map<string, TextPart>();
  for await (const part of stream) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        start(open, reply, part);
        break;
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        extend(open.get(part.id), part, listener);
        break;
      case 'tool-call':
      case 'custom':
        reply.parts.push(...partOf(part));
        break;
      case 'finish':
        reply.finish = part.finishReason;
        reply.usage = part.usage;
        reply.metadata = part.providerMetadata;
        break;
      case 'error':
        if (!listener.unreadable(part.error)) throw new StreamError(part.error);
        break;
      default:
        passOn(part, listener);
    }
  }
}

function passOn(part: LanguageModelV4StreamPart, listener: StreamListener): void {
  if (part.type === 'stream-start') listener.warned(part.warnings);
  else if (part.type === 'raw') listener.raw(part.rawValue);
  else if (part.type === 'tool-input-delta') listener.text(part.delta, 'arguments');
}

type Start = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-start` }>;

function start(open: Map<string, TextPart>, reply: Reply, { type, id, providerMetadata: metadata }: Start): void {
  const started: TextPart = { type: type === 'text-start' ? 'text' : 'reasoning', text: '', metadata };
  open.set(id, started);
  reply.parts.push(started);
}

/** An error that the provider reported after it had started to reply. */
export class StreamError extends Error {
  constructor(cause: unknown) {
    super('the provider stopped the reply with an error', { cause });
    this.name = 'StreamError';
  }
}

type Extension = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${'delta' | 'end'}` }>;

function extend(open: TextPart | undefined, part: Extension, listener: StreamListener): void {
  if (open === undefined) return;
  open.metadata = merged(open.metadata, part.providerMetadata);
  if (!('delta' in part)) return;
  open.text += part.delta;
  if (!isSummary(open.metadata)) listener.text(part.delta, open.type);
}

/** Repeats the id and usage of the message. Providers do not take it back. */
const MESSAGE_START = 'anthropic.message_start';

/** Leaves out tool calls that the provider executed itself: the engine can neither allow nor repeat them. */
function partOf(part: LanguageModelV4Content): ReplyPart[] {
  const metadata = part.providerMetadata;
  if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text, metadata }];
  if (part.type === 'custom') return part.kind === MESSAGE_START ? [] : [{ type: 'custom', kind: part.kind, metadata }];
  if (part.type !== 'tool-call' || part.providerExecuted === true) return [];
  return [{ type: 'call', id: part.toolCallId, name: part.toolName, input: part.input, metadata }];
}

/** A summary that a provider makes when it shortens the conversation itself. It is not text of the model. */
function isSummary(metadata: Metadata): boolean {
  return fieldOf(metadata, 'type') === 'compaction';
}

function merged(before: Metadata, more: Metadata): Metadata {
  if (before === undefined || more === undefined) return more ?? before;
  const both: SharedV4ProviderMetadata = { ...before };
  for (const [provider, fields] of Object.entries(more)) both[provider] = { ...both[provider], ...fields };
  return both;
}

/** The tokens that a response reports. */
export function tokenUsage(
  input?: number,
  output?: number,
  cacheRead?: number,
  reasoning?: number,
): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning },
  };
}
