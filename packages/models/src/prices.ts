/**
 * Model prices from the table of genai-prices. A price is looked up when a flow is compiled and becomes part of the flow.
 * The table is large, so it is loaded at the first lookup.
 */
import { createRequire } from 'node:module';
import type * as GenaiPrices from '@pydantic/genai-prices';
import type { Price } from '@sluice-internal/kernel/ir';

/** US dollars per million tokens, or null for an unknown model. */
export function priceOf(provider: string, model: string): Price | null {
  const { calcPrice } = table();
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model, {
    providerId: LISTED_AS.get(provider) ?? provider,
  });
  if (found === null) return null;
  // A price that depends on the time of day counts at its highest, because a budget must hold at any hour.
  const rows =
    Array.isArray(found.model.prices) &&
    found.model.prices.some(({ constraint }) => constraint?.type === 'time_of_date')
      ? found.model.prices.map(({ prices }) => prices)
      : [found.model_price];
  const input = highest(rows, 'input_mtok');
  const output = highest(rows, 'output_mtok');
  const cached = highest(rows, 'cache_read_mtok');
  const written = highest(rows, 'cache_write_mtok');
  const hour = highest(rows, 'cache_write_1h_mtok');
  if (input === undefined || output === undefined) return null;
  return {
    input: input.base,
    output: output.base,
    ...(cached === undefined ? {} : { cached_input: cached.base }),
    ...(written === undefined ? {} : { cache_write: written.base }),
    ...(hour === undefined ? {} : { cache_write_1h: hour.base }),
    ...longOf(input, output),
  };
}

const LISTED_AS: ReadonlyMap<string, string> = new Map([
  ['openai.chat', 'openai'],
  ['xai', 'x-ai'],
]);

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

/** One price for long input: from the start of the first tier, the highest price of all tiers. */
function longOf(input: Rate, output: Rate): Pick<Price, 'long'> {
  const starts = [...input.tiers, ...output.tiers].map(({ start }) => start);
  if (starts.length === 0) return {};
  const highestPrice = ({ base, tiers }: Rate): number => Math.max(base, ...tiers.map(({ price }) => price));
  return { long: { above: Math.min(...starts), input: highestPrice(input), output: highestPrice(output) } };
}
