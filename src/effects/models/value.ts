/** A reply as the journal keeps it, and what it used. */
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { Amounts } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { costOf } from '../../ir/price.ts';
import { pure } from '../../runtime/engine/pure.ts';
import type { ProposedCall, Reply } from './reply.ts';
import type { Target } from './target.ts';
import type { Offer } from './tool-names.ts';

export function valueOf(
  { text, calls, thoughts, finish, usage, metadata }: Reply,
  { name }: Target,
  offer: Offer,
): Json {
  const toolCalls = named(calls).map((call, index) => ({
    id: call.id,
    name: offer.meant(call.name),
    ...argumentsOf(call.input),
    ...kept(call.metadata),
    ...(index === 0 && thoughts.length > 0
      ? { reasoning: thoughts.map((thought) => ({ text: thought.text, ...kept(thought.metadata) })) }
      : {}),
  }));
  const value = {
    text,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    finish: finish?.unified ?? 'other',
    served: name,
    ...cacheUse(usage),
    ...kept(metadata),
  };
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** Where a provider says nothing about what it used, the most that the texts can come to counts. */
export function usedBy({ text, calls, usage }: Reply, { price }: Target, sent: string): Amounts {
  const said = text + calls.map(({ name, input }) => name + input).join('');
  const inputTokens = whole(usage?.inputTokens.total) ?? pure.countTokens(sent);
  const outputTokens = whole(usage?.outputTokens.total) ?? pure.countTokens(said);
  const cachedTokens = Math.min(inputTokens, whole(usage?.inputTokens.cacheRead) ?? 0);
  return { inputTokens, outputTokens, costMicros: costOf(price, { inputTokens, outputTokens, cachedTokens }) };
}

/** Input that a provider had at hand, or put aside for later, has a price of its own; it is part of the input tokens. */
function cacheUse(usage: Reply['usage']): { readonly cache?: { readonly read: number; readonly written: number } } {
  const read = whole(usage?.inputTokens.cacheRead) ?? 0;
  const written = whole(usage?.inputTokens.cacheWrite) ?? 0;
  return read + written === 0 ? {} : { cache: { read, written } };
}

/** An object, or null with the text that is none: whoever judges the call can then tell the model what was wrong with it. */
function argumentsOf(input: string): { readonly args: Json; readonly raw?: string } {
  if (input.trim() === '') return { args: {} };
  try {
    const args = JSON.parse(input) as Json;
    if (args !== null && typeof args === 'object' && !Array.isArray(args)) return { args };
  } catch {
    // Told below, like any other text that is no object.
  }
  return { args: null, raw: input };
}

/** Ids are what results refer to, so that each call has one of its own. */
function named(calls: readonly ProposedCall[]): ProposedCall[] {
  const taken = new Set<string>();
  return calls.map((call, index) => {
    const id = call.id === '' || taken.has(call.id) ? `${call.id}c${index}` : call.id;
    taken.add(id);
    return { ...call, id };
  });
}

function kept(metadata: SharedV4ProviderMetadata | undefined): {
  readonly providerMetadata?: SharedV4ProviderMetadata;
} {
  const filled = Object.entries(metadata ?? {}).flatMap(([provider, fields]) => {
    const said = Object.entries(fields ?? {}).filter(([, value]) => value !== null && value !== undefined);
    return said.length === 0 ? [] : [[provider, Object.fromEntries(said)] as const];
  });
  return filled.length === 0 ? {} : { providerMetadata: Object.fromEntries(filled) };
}

function whole(count: number | undefined): number | undefined {
  return count !== undefined && Number.isFinite(count) && count >= 0 ? Math.ceil(count) : undefined;
}
