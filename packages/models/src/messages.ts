/**
 * Converts messages to an AI SDK prompt. Assistant messages keep the parts, order and metadata of the reply. Content that
 * every provider rejects is left out: a tool call without a result, and an empty message.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Message, ReplyPart, ToolRequest } from '@sluice-internal/platform';
import type { SentFiles } from './attachments.ts';
import type { Offer } from './tool-names.ts';

export function toPrompt(messages: readonly Message[], offer: Offer, files: SentFiles): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const answered = answeredCalls(messages);
  const open = new Set<string>();
  const results = new Results(prompt, offer, files);
  for (const written of messages) {
    const { role } = written;
    const message = role === 'assistant' ? written : { ...written, content: offer.renamed(role, written.content) };
    const { content } = message;
    if (role === 'tool' && message.toolCallId !== undefined && open.delete(message.toolCallId)) {
      results.add(message, message.toolCallId);
      continue;
    }
    results.end();
    if (role === 'assistant') prompt.push(...assistantMessage(message, offer, answered, open));
    else if (role === 'system' && prompt.every((each) => each.role === 'system'))
      prompt.push({ role: 'system', content });
    else if (content !== '')
      prompt.push({ role: 'user', content: [{ type: 'text', text: content }, ...files.in(content)] });
  }
  results.end();
  if (prompt.every(({ role }) => role === 'system'))
    prompt.push({ role: 'user', content: [{ type: 'text', text: '(no input)' }] });
  return prompt;
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/** A tool call as a reply records it. */
interface RecordedCall extends ToolRequest {
  readonly raw?: string;
  readonly providerMetadata?: SharedV4ProviderOptions;
}

function assistantMessage(
  { content, toolCalls = [], parts }: Message,
  offer: Offer,
  answered: ReadonlySet<string>,
  open: Set<string>,
): LanguageModelV4Message[] {
  const calls = new Map((toolCalls as readonly RecordedCall[]).map((call) => [call.id, call]));
  const ordered = parts ?? usualParts(calls.keys());
  const kept = withoutStrayReasoning(
    ordered.filter((part) => part.type !== 'call' || answered.has(part.id)),
    ordered,
  );
  const converted = kept.flatMap((part): AssistantPart[] => {
    if (part.type !== 'call') return contentPart(part, content);
    const call = calls.get(part.id);
    if (call === undefined) return [];
    open.add(call.id);
    const { id, name, providerMetadata } = call;
    const toolName = offer.sent(name);
    return [{ type: 'tool-call', toolCallId: id, toolName, input: inputOf(call), ...optionsOf(providerMetadata) }];
  });
  return converted.length === 0 ? [] : [{ role: 'assistant', content: converted }];
}

function usualParts(calls: Iterable<string>): ReplyPart[] {
  return [{ type: 'text' }, ...[...calls].map((id): ReplyPart => ({ type: 'call', id }))];
}

/** Providers accept reasoning only together with the part that follows it. */
function withoutStrayReasoning(kept: readonly ReplyPart[], all: readonly ReplyPart[]): readonly ReplyPart[] {
  if (kept.length === all.length) return kept;
  return kept.filter((part) => {
    if (part.type !== 'reasoning') return true;
    const follower = all.slice(all.indexOf(part)).find(({ type }) => type !== 'reasoning');
    return follower !== undefined && kept.includes(follower);
  });
}

function contentPart(part: Exclude<ReplyPart, { type: 'call' }>, content: string): AssistantPart[] {
  const options = optionsOf(part.providerMetadata);
  if (part.type === 'custom') return [{ type: 'custom', kind: part.kind, ...options }];
  const text = part.text ?? content;
  return text === '' && options.providerOptions === undefined ? [] : [{ type: part.type, text, ...options }];
}

function optionsOf(metadata: Json | SharedV4ProviderOptions | undefined): {
  readonly providerOptions?: SharedV4ProviderOptions;
} {
  return metadata === undefined ? {} : { providerOptions: metadata as SharedV4ProviderOptions };
}

/** Providers take objects only, so other arguments are wrapped. The model then sees the text it wrote. */
function inputOf({ args, raw }: RecordedCall): Json {
  if (isRecord(args)) return args;
  const written = raw ?? args ?? null;
  return written === null ? {} : { invalid_json: written };
}

/**
 * The results of one reply's calls go into one message. Files that the provider does not take inside a result follow after
 * the results, in a message of their own.
 */
class Results {
  readonly #prompt: LanguageModelV4Prompt;
  readonly #offer: Offer;
  readonly #files: SentFiles;
  #pending: LanguageModelV4FilePart[] = [];

  constructor(prompt: LanguageModelV4Prompt, offer: Offer, files: SentFiles) {
    this.#prompt = prompt;
    this.#offer = offer;
    this.#files = files;
  }

  add({ content, name = '' }: Message, toolCallId: string): void {
    const files = this.#files.in(content);
    const isInside = this.#files.inResults && files.length > 0;
    if (!isInside) this.#pending.push(...files);
    const part = {
      type: 'tool-result' as const,
      toolCallId,
      toolName: this.#offer.sent(name),
      output: isInside
        ? { type: 'content' as const, value: [{ type: 'text' as const, text: content }, ...files] }
        : { type: 'text' as const, value: content },
    };
    const last = this.#prompt.at(-1);
    if (last?.role === 'tool') last.content.push(part);
    else this.#prompt.push({ role: 'tool', content: [part] });
  }

  end(): void {
    if (this.#pending.length === 0) return;
    const names = this.#pending.map(({ filename = 'a file' }) => filename).join(', ');
    const text = `Files that the results above name: ${names}`;
    this.#prompt.push({ role: 'user', content: [{ type: 'text', text }, ...this.#pending] });
    this.#pending = [];
  }
}

/** The calls whose results follow directly. */
function answeredCalls(messages: readonly Message[]): ReadonlySet<string> {
  const answered = new Set<string>();
  let asked = new Set<string>();
  for (const { role, toolCalls = [], toolCallId } of messages) {
    if (role === 'tool' && toolCallId !== undefined && asked.has(toolCallId)) answered.add(toolCallId);
    else if (role !== 'tool') asked = new Set(toolCalls.map(({ id }) => id));
  }
  return answered;
}
