/** What a model call costs, in millionths of a dollar: a price is dollars per million tokens, which is the same per token. */
import type { CompiledFlow } from './nodes.ts';

export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cached_input?: number;
  /** What holds for all tokens of a call whose input is longer than `above`. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Those of the input that were read from a provider's cache. */
  readonly cachedTokens?: number;
}

/** The alias under which a flow keeps the model of agents that name none. */
export const DEFAULT_MODEL = '';

export function costOf(price: Price | undefined, { inputTokens, outputTokens, cachedTokens = 0 }: Tokens): number {
  if (price === undefined) return 0;
  const { input, output } = price.long !== undefined && inputTokens > price.long.above ? price.long : price;
  // The cheaper rate of a cache is known for calls of ordinary length only.
  const cached = input === price.input ? (price.cached_input ?? input) : input;
  return Math.ceil((inputTokens - cachedTokens) * input + cachedTokens * cached + outputTokens * output);
}

/** The price that the flow holds for an agent, or for the model that stands in for the agent's own. */
export function priceIn(
  flow: Pick<CompiledFlow, 'agents' | 'models'>,
  agent: string,
  model?: string,
): Price | undefined {
  const alias = model ?? flow.agents[agent]?.model ?? DEFAULT_MODEL;
  return (flow.models[alias] as { readonly price?: Price } | undefined)?.price;
}
