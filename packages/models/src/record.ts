/** The reply as the journal records it, and the usage it is charged for. */
import { costOf } from '@sluice-internal/kernel/ir';
import type { Amounts } from '@sluice-internal/kernel/ir';
import { isRecord, parseJson, parsedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { pure } from '@sluice-internal/engine/ports';
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { callsOf, textOf, type CallPart, type Reply, type ReplyPart } from './reply.ts';
import type { Target } from './target.ts';
import type { Offer } from './tool-names.ts';

export function recordOf(reply: Reply, { name }: Target, offer: Offer, structured: boolean): Json {
  const text = textOf(reply, structured);
  const calls = withUniqueIds(callsOf(reply));
  const toolCalls = calls.map((call) => ({
    id: call.id,
    name: offer.original(call.name),
    ...argumentsOf(call.input),
    ...metadataOf(call.metadata),
  }));
  const parts = partsOf(reply.parts, calls, text);
  const record = {
    text,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(parts === undefined ? {} : { parts }),
    finish: reply.finish?.unified ?? 'other',
    served: name,
    ...metadataOf(reply.metadata),
  };
  return parseJson(JSON.stringify(record));
}

/** The record of a reply in two parts. Its metadata is that of the second part. */
export function continued(partial: Json | undefined, rest: Json): Json {
  if (partial === undefined || partial === null) return rest;
  const [first, second] = [partial, rest] as unknown as readonly [RecordedReply, RecordedReply];
  const partsIn = ({ text, parts }: RecordedReply): readonly Json[] => parts ?? [{ type: 'text', text }];
  const needsParts = first.parts !== undefined || second.parts !== undefined;
  return {
    ...(rest as { [field: string]: Json }),
    text: `${first.text}${second.text}`,
    ...(first.toolCalls === undefined ? {} : { toolCalls: [...first.toolCalls, ...(second.toolCalls ?? [])] }),
    ...(needsParts
      ? { parts: [...partsIn(first), ...partsIn(second)].map((part) => withText(part, first, second)) }
      : {}),
  };
}

interface RecordedReply {
  readonly text: string;
  readonly toolCalls?: readonly Json[];
  readonly parts?: readonly Json[];
}

/** A text part without text stands for the whole text of its reply, which is only a part now. */
function withText(part: Json, first: RecordedReply, second: RecordedReply): Json {
  const fields = part as { readonly type?: Json; readonly text?: Json };
  if (fields.type !== 'text' || fields.text !== undefined) return part;
  return { ...fields, text: (first.parts ?? []).includes(part) ? first.text : second.text };
}

/**
 * If the provider reports no usage, or zero tokens for a text, the tokens are estimated, so that no text is free. Zero for a reply
 * of tool calls alone is kept: OpenAI reports it for calls that a program of the model makes, because it bills the program.
 */
export function usageOf(reply: Reply, { price }: Target, sent: string): Amounts {
  const { usage } = reply;
  const least = Math.min(textOf(reply).length, 1);
  const inputTokens = wholeNumber(usage?.inputTokens.total, least) ?? pure.countTokens(sent);
  const reported = wholeNumber(usage?.outputTokens.total, least) ?? pure.countTokens(receivedText(reply));
  const outputTokens = Math.max(reported, besidePrompt(usage?.raw));
  const cached = cachedIn(usage, inputTokens);
  const { cachedInputTokens, cacheWriteTokens } = cached;
  const reasoningTokens = wholeNumber(usage?.outputTokens.reasoning) ?? 0;
  return {
    inputTokens,
    outputTokens,
    costMicros: costOf(price, { inputTokens, outputTokens, ...cached }),
    ...(cachedInputTokens > 0 ? { cachedInputTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
}

/** The parts of the input that the provider read from its cache and wrote to it. They are never more than the input. */
function cachedIn(
  usage: Reply['usage'],
  inputTokens: number,
): { readonly cachedInputTokens: number; readonly cacheWriteTokens: number; readonly cacheWrite1hTokens: number } {
  const cachedInputTokens = Math.min(inputTokens, wholeNumber(usage?.inputTokens.cacheRead) ?? 0);
  const cacheWriteTokens = Math.min(inputTokens - cachedInputTokens, wholeNumber(usage?.inputTokens.cacheWrite) ?? 0);
  return {
    cachedInputTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: Math.min(cacheWriteTokens, keptForHour(usage?.raw)),
  };
}

/** Some servers leave reasoning out of `completion_tokens`, and count it in the total only. */
function besidePrompt(raw: unknown): number {
  const { total_tokens: total, prompt_tokens: prompt } = isRecord(raw) ? raw : {};
  if (typeof total !== 'number' || typeof prompt !== 'number') return 0;
  return (wholeNumber(total) ?? 0) - (wholeNumber(prompt) ?? Infinity);
}

function receivedText({ parts }: Reply): string {
  const textIn = (part: ReplyPart): string => {
    if (part.type === 'call') return part.name + part.input;
    return part.type === 'custom' ? '' : part.text;
  };
  return parts.map(textIn).join('');
}

/**
 * The order of the parts, needed only if it is not the usual one: text, then calls, without metadata on the text. A part
 * never repeats what `text` or `toolCalls` hold already.
 */
function partsOf(parts: readonly ReplyPart[], calls: readonly CallPart[], text: string): object[] | undefined {
  const rank = { text: 0, call: 1, reasoning: 2, custom: 2 } as const;
  const isUsual = parts.every(
    ({ type, metadata }, index) =>
      rank[type] < 2 &&
      rank[type] >= rank[parts[index - 1]?.type ?? 'text'] &&
      (type !== 'text' || (index === 0 && metadataOf(metadata).providerMetadata === undefined)),
  );
  if (isUsual) return undefined;
  let called = 0;
  return parts.map((part) => {
    const metadata = metadataOf(part.metadata);
    if (part.type === 'call') return { type: 'call', id: calls[called++]?.id };
    if (part.type === 'custom') return { type: 'custom', kind: part.kind, ...metadata };
    return part.type === 'text' && part.text === text
      ? { type: 'text', ...metadata }
      : { type: part.type, text: part.text, ...metadata };
  });
}

/** Arguments that are not a JSON object become `args: null` with the text in `raw`, so that the model can correct them. */
function argumentsOf(input: string): { readonly args: Json; readonly raw?: string } {
  const args = input.trim() === '' ? {} : parsedJson(input);
  return isRecord(args) ? { args } : { args: null, raw: input };
}

/** Results refer to calls by id, so each call needs its own. */
function withUniqueIds(calls: readonly CallPart[]): CallPart[] {
  const taken = new Set<string>();
  return calls.map((call, index) => {
    let { id } = call;
    while (id === '' || taken.has(id)) id = `${id}c${index}`;
    taken.add(id);
    return { ...call, id };
  });
}

function metadataOf(metadata: SharedV4ProviderMetadata | undefined): {
  readonly providerMetadata?: SharedV4ProviderMetadata;
} {
  const filled = Object.entries(metadata ?? {}).flatMap(([provider, fields]) => {
    const known = Object.entries(fields ?? {}).filter(([, value]) => value !== null && value !== undefined);
    return known.length === 0 ? [] : [[provider, Object.fromEntries(known)] as const];
  });
  return filled.length === 0 ? {} : { providerMetadata: Object.fromEntries(filled) };
}

/** Tokens that Anthropic writes to its cache for an hour. The AI SDK reports them only in the usage as it was sent. */
function keptForHour(raw: unknown): number {
  const { cache_creation: written } = (raw ?? {}) as {
    readonly cache_creation?: { readonly ephemeral_1h_input_tokens?: unknown } | null;
  };
  const count = written?.ephemeral_1h_input_tokens;
  return (typeof count === 'number' ? wholeNumber(count) : undefined) ?? 0;
}

function wholeNumber(count: number | undefined, least = 0): number | undefined {
  return count !== undefined && count >= least && Number.isSafeInteger(Math.ceil(count)) ? Math.ceil(count) : undefined;
}
