/**
 * What models cost, by the price table of genai-prices: looked up when a flow is compiled, and kept with its runs from then
 * on. The table is large, so it is loaded when the first price is asked for.
 */
import { createRequire } from 'node:module';
import type * as GenaiPrices from '@pydantic/genai-prices';
import type { Price } from '../../ir/price.ts';

/** US dollars per million tokens; null for a model that the table does not have. */
export function priceOf(provider: string, model: string): Price | null {
  const { calcPrice } = table();
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model, {
    providerId: LISTED_AS[provider] ?? provider,
  });
  if (found === null) return null;
  // Prices that depend on the time of day count at their highest: a bound must hold at any hour.
  const rows =
    Array.isArray(found.model.prices) &&
    found.model.prices.some(({ constraint }) => constraint?.type === 'time_of_date')
      ? found.model.prices.map(({ prices }) => prices)
      : [found.model_price];
  const input = highest(rows, 'input_mtok');
  const output = highest(rows, 'output_mtok');
  const cached = highest(rows, 'cache_read_mtok');
  if (input === undefined || output === undefined) return null;
  return {
    input: input.base,
    output: output.base,
    ...(cached === undefined ? {} : { cached_input: cached.base }),
    ...longOf(input, output),
  };
}

const LISTED_AS: { readonly [provider: string]: string } = { 'openai.chat': 'openai', xai: 'x-ai' };

type Table = typeof GenaiPrices;
let loaded: Table | undefined;

function table(): Table {
  loaded ??= createRequire(import.meta.url)('@pydantic/genai-prices') as Table;
  return loaded;
}

interface Rate {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

function highest(rows: readonly { readonly [unit: string]: unknown }[], unit: string): Rate | undefined {
  const rates = rows.flatMap((row) => rateOf(row[unit]));
  return rates.length === 0 ? undefined : rates.reduce((a, b) => (b.base > a.base ? b : a));
}

function rateOf(price: unknown): Rate[] {
  if (typeof price === 'number') return [{ base: price, tiers: [] }];
  return price !== null && typeof price === 'object' && 'base' in price ? [price as Rate] : [];
}

/** From the first step on, the dearest of them: there is one price for long input, and it must bound them all. */
function longOf(input: Rate, output: Rate): Pick<Price, 'long'> {
  const starts = [...input.tiers, ...output.tiers].map(({ start }) => start);
  if (starts.length === 0) return {};
  const dearest = ({ base, tiers }: Rate): number => Math.max(base, ...tiers.map(({ price }) => price));
  return { long: { above: Math.min(...starts), input: dearest(input), output: dearest(output) } };
}
