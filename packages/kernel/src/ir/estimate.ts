/**
 * The cost of model calls, in millionths of a dollar: prices are dollars per million tokens, so a price is micros per token.
 * Also the worst case of a call, which is reserved before it is made.
 */
import type { Json } from '../expr/json.ts';
import { attachmentTokens } from './attachment.ts';
import { dimensionRow } from './dimensions.ts';
import type { Amounts } from './dimensions.ts';
import { isCounted } from './meters.ts';
import type { AgentDef, CompiledFlow, DoNode } from './nodes.ts';

export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input that the provider read from its cache. */
  readonly cached_input?: number;
  /** Input that the provider wrote to its cache. */
  readonly cache_write?: number;
  /** Input that the provider keeps in its cache for an hour. Default: twice the price of input, if `cache_write` is known. */
  readonly cache_write_1h?: number;
  /** Applies to all tokens of a call whose input is longer than `above`. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

/** `cachedInputTokens` and `cacheWriteTokens` are parts of `inputTokens`; `cacheWrite1hTokens` is a part of `cacheWriteTokens`. */
export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly cacheWrite1hTokens?: number;
}

/** The alias of the model of agents that name none. */
export const DEFAULT_MODEL = '';

export function costOf(price: Price | undefined, tokens: Tokens): number {
  if (price === undefined) return 0;
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = tokens;
  const isLong = price.long !== undefined && inputTokens > price.long.above;
  const { input, output } = isLong && price.long !== undefined ? price.long : price;
  // For long input the table has no cache rates: reads count in full, and writes keep their surcharge.
  const read = isLong ? input : (price.cached_input ?? input);
  const written =
    input * ((cacheWriteTokens - cacheWrite1hTokens) * writeFactor(price) + cacheWrite1hTokens * hourFactor(price));
  const plain = inputTokens - cachedInputTokens - cacheWriteTokens;
  return Math.ceil(rounded(plain * input + cachedInputTokens * read + written + outputTokens * output));
}

/** The price of writing input to a cache, relative to its normal price. */
function writeFactor({ input, cache_write: write }: Price): number {
  return write === undefined || input === 0 ? 1 : write / input;
}

/** The same for input that the cache keeps for an hour. */
function hourFactor(price: Price): number {
  return price.input === 0 ? 1 : hourPrice(price) / price.input;
}

/** The price of input that the cache keeps for an hour. */
export function hourPrice({ input, cache_write: write, cache_write_1h: hour }: Price): number {
  return hour ?? (write === undefined ? input : Math.max(write, 2 * input));
}

/** The highest price of input, relative to its normal price: a provider may write the whole input to its cache. */
export function highestFactor(price: Price): number {
  return Math.max(1, writeFactor(price), price.cache_write_1h === undefined ? 1 : hourFactor(price));
}

/** The highest cost of this number of tokens. */
function highestCost(price: Price | undefined, inputTokens: number, outputTokens: number): number {
  const isDearer = price !== undefined && highestFactor(price) > 1;
  const cacheWriteTokens = isDearer ? inputTokens : 0;
  const cacheWrite1hTokens = price?.cache_write_1h === undefined ? 0 : cacheWriteTokens;
  return costOf(price, { inputTokens, outputTokens, cacheWriteTokens, cacheWrite1hTokens });
}

/** Removes the noise of floating-point sums, which would round a whole amount up. */
function rounded(micros: number): number {
  return Number(micros.toPrecision(12));
}

/** The price that the flow holds for an agent's own model, or for a fallback model. */
export function priceIn(
  flow: Pick<CompiledFlow, 'agents' | 'models'>,
  agent: string,
  model?: string,
): Price | undefined {
  const alias = model ?? flow.agents[agent]?.model ?? DEFAULT_MODEL;
  return (flow.models[alias] as { readonly price?: Price } | undefined)?.price;
}

interface Estimator {
  readonly flow: CompiledFlow;
  readonly pure: { countTokens(text: string): number };
}

/**
 * The amounts to reserve for one attempt. Input tokens are counted only if a meter of the node limits them, because
 * counting is the expensive part of a request. `target` is a fallback model.
 */
export function worstCase(
  { flow, pure }: Estimator,
  node: Pick<DoNode, 'effect' | 'charges'>,
  input: { readonly [field: string]: Json },
  target?: string,
): Amounts {
  const { effect } = node;
  if (effect.kind !== 'model' || !limitsInput(flow, node)) return effect.reserve;
  const agent = flow.agents[effect.agent];
  const given = JSON.stringify(input);
  const text = `${agent?.instructions ?? ''}\n${given}${offered(flow, agent)}`;
  const inputTokens = pure.countTokens(text) + attachmentTokens(given);
  const outputTokens = effect.reserve.outputTokens ?? 0;
  const costMicros = highestCost(priceIn(flow, effect.agent, target ?? effect.target), inputTokens, outputTokens);
  const tokens = inputTokens + outputTokens;
  return { ...effect.reserve, inputTokens, tokens, costMicros, contextTokens: inputTokens };
}

/** The tools and the output schema are sent to the provider too, which counts them as input. */
function offered(flow: CompiledFlow, agent: AgentDef | undefined): string {
  if (agent === undefined || (agent.tools.length === 0 && agent.output === null)) return '';
  return JSON.stringify([agent.output, agent.tools.map((tool) => flow.tools[tool] ?? tool)]);
}

/** True if a meter of the node limits an amount that depends on the input. */
export function limitsInput({ meters }: CompiledFlow, { charges = [] }: Pick<DoNode, 'charges'>): boolean {
  return charges.some((id) => {
    const unit = meters[id]?.unit;
    return unit !== undefined && isCounted(unit) && dimensionRow(unit).byInput === true;
  });
}
