/**
 * Messages in the form that providers take. Nothing is added to what was said; what no provider accepts is left out: a
 * request that was never answered, a message without content.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { Json } from '../../expr/json.ts';
import type { Message, ToolRequest } from '../prompt/prompt.ts';
import type { Offer } from './tool-names.ts';

/** A request as our own replies record it: with what its provider wants to see again. */
export interface RecordedCall extends ToolRequest {
  readonly raw?: string;
  readonly providerMetadata?: SharedV4ProviderOptions;
  /** What the model thought before this call, where its provider wants that back too. */
  readonly reasoning?: readonly { readonly text: string; readonly providerMetadata?: SharedV4ProviderOptions }[];
}

export function toPrompt(messages: readonly Message[], offer: Offer): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const answered = answeredCalls(messages);
  const open = new Set<string>();
  for (const message of messages) {
    const { role, content } = message;
    if (role === 'assistant') prompt.push(...assistant(message, offer, answered, open));
    else if (role === 'tool' && message.toolCallId !== undefined && open.delete(message.toolCallId))
      addResult(prompt, message, message.toolCallId, offer);
    else if (role === 'system' && prompt.every((each) => each.role === 'system'))
      prompt.push({ role: 'system', content });
    else if (content !== '') prompt.push({ role: 'user', content: [{ type: 'text', text: content }] });
  }
  if (prompt.every(({ role }) => role === 'system'))
    prompt.push({ role: 'user', content: [{ type: 'text', text: '(no input)' }] });
  return prompt;
}

function assistant(
  { content, toolCalls = [] }: Message,
  offer: Offer,
  answered: ReadonlySet<string>,
  open: Set<string>,
): LanguageModelV4Message[] {
  const parts: Extract<LanguageModelV4Message, { role: 'assistant' }>['content'] = [];
  const calls = (toolCalls as readonly RecordedCall[]).filter(({ id }) => answered.has(id));
  for (const { reasoning = [] } of calls)
    for (const { text, providerMetadata } of reasoning)
      parts.push({
        type: 'reasoning',
        text,
        ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }),
      });
  if (content !== '') parts.push({ type: 'text', text: content });
  for (const call of calls) {
    const { id, name, providerMetadata } = call;
    open.add(id);
    parts.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: offer.sent(name),
      input: inputOf(call),
      ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }),
    });
  }
  return parts.length === 0 ? [] : [{ role: 'assistant', content: parts }];
}

/** Providers take objects only: text that was none is kept inside of one, so that a model sees what it wrote. */
function inputOf({ args, raw }: RecordedCall): Json {
  if (args !== null && typeof args === 'object' && !Array.isArray(args)) return args;
  const wrote = raw ?? args ?? null;
  return wrote === null ? {} : { invalid_json: wrote };
}

/** Results of one reply's requests belong into one message. */
function addResult(
  prompt: LanguageModelV4Prompt,
  { content, name = '' }: Message,
  toolCallId: string,
  offer: Offer,
): void {
  const part = {
    type: 'tool-result',
    toolCallId,
    toolName: offer.sent(name),
    output: { type: 'text', value: content },
  } as const;
  const last = prompt.at(-1);
  if (last?.role === 'tool') last.content.push(part);
  else prompt.push({ role: 'tool', content: [part] });
}

/** Requests whose result follows before anybody else speaks. */
function answeredCalls(messages: readonly Message[]): ReadonlySet<string> {
  const answered = new Set<string>();
  let asked = new Set<string>();
  for (const { role, toolCalls = [], toolCallId } of messages) {
    if (role === 'tool' && toolCallId !== undefined && asked.has(toolCallId)) answered.add(toolCallId);
    else if (role !== 'tool') asked = new Set(toolCalls.map(({ id }) => id));
  }
  return answered;
}
