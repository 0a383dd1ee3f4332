/**
 * Every model that a flow may call, with its price: a run keeps the prices that it started with. A price in the
 * document counts; a missing price is looked up when the document is compiled.
 */
import { DEFAULT_MODEL, hourPrice } from '@sluice-internal/kernel/ir';
import type { AgentDef, FailureClass, Node, Price } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { keepsForHour, readModelRef } from '@sluice-internal/kernel/catalog';

/** US dollars per million tokens; null if unknown. Pure: the same arguments give the same price. */
export type PriceLookup = (provider: string, model: string) => Price | null;

export interface ModelOptions {
  readonly priceOf?: PriceLookup;
  /** The model of agents that name none: an alias or `provider/model`. */
  readonly model?: string;
}

export interface ModelTable {
  /** The model behind a name, as the flow keeps it. */
  find(name: string | null): ModelEntry | undefined;
  /** True if the document declares the alias, or an agent before has named the model. */
  has(name: string): boolean;
  /** The models that these agents can call, by name. */
  usedBy(agents: Iterable<AgentDef>, others?: readonly string[]): { readonly [name: string]: Json };
  /** The model call with the fallback models of its agent's own. */
  withFallback(node: Node, agents: { readonly [id: string]: AgentDef }): Node;
  /** Adds a model that the sections do not declare. */
  declare(alias: string, entry: ModelEntry): void;
  /** Adds a model under its name, or under a numbered name if the name is taken by another one. Returns the name. */
  declareVariant(name: string, entry: ModelEntry): string;
}

export interface ModelEntry {
  readonly provider: string;
  readonly model: string;
  readonly price?: Price;
  readonly fallback?: readonly string[];
  readonly temperature?: number | undefined;
  readonly limits?: { readonly max_output_tokens?: number | undefined } | undefined;
  readonly options?: { readonly [name: string]: Json } | undefined;
  readonly [field: string]: unknown;
}

export function modelTable(declared: { readonly [alias: string]: ModelEntry }, options: ModelOptions = {}): ModelTable {
  const entries = new Map<string, ModelEntry>();
  const declare = (alias: string, entry: ModelEntry): void => void entries.set(alias, priced(entry, options.priceOf));
  for (const [alias, entry] of Object.entries(declared)) declare(alias, entry);
  const find = (name: string | null): ModelEntry | undefined => {
    const known = entries.get(name ?? DEFAULT_MODEL);
    if (known !== undefined) return known;
    const named = name === null ? options.model : name;
    const ref = named === undefined ? null : (entries.get(named) ?? readModelRef(named));
    if (ref === null) return undefined;
    declare(name ?? DEFAULT_MODEL, { ...ref });
    return entries.get(name ?? DEFAULT_MODEL);
  };
  return {
    find,
    has: (name) => entries.has(name),
    declare,
    declareVariant: (name, entry) => {
      const wanted = JSON.stringify(priced(entry, options.priceOf));
      let alias = name;
      for (let count = 2; entries.has(alias) && JSON.stringify(entries.get(alias)) !== wanted; count++)
        alias = `${name}#${count}`;
      declare(alias, entry);
      return alias;
    },
    usedBy: (agents, others = []) => {
      const names = [...Object.keys(declared), ...others];
      for (const { model } of agents) names.push(model ?? DEFAULT_MODEL, ...(find(model)?.fallback ?? []));
      const used: { [name: string]: Json } = {};
      for (const name of names) {
        const entry = find(name === DEFAULT_MODEL ? null : name);
        if (entry !== undefined) used[name] = JSON.parse(JSON.stringify(entry)) as Json;
      }
      return used;
    },
    withFallback: (node, agents) => {
      if (node.op !== 'do' || node.effect.kind !== 'model') return node;
      const fallback = find(agents[node.effect.agent]?.model ?? null)?.fallback ?? [];
      if (fallback.length === 0) return node;
      return { ...node, retry: { ...node.retry, fallback: { targets: fallback, on: UNREACHABLE } } };
    },
  };
}

function priced(entry: ModelEntry, priceOf: PriceLookup | undefined): ModelEntry {
  const price = entry.price ?? priceOf?.(entry.provider, entry.model) ?? undefined;
  if (price === undefined) return entry;
  if (keepsForHour(entry.options)) return { ...entry, price: { ...price, cache_write_1h: hourPrice(price) } };
  if (entry.price !== undefined) return entry;
  // Without the option no input is kept for an hour, so a call does not reserve that price.
  const { cache_write_1h: _, ...others } = price;
  return { ...entry, price: others };
}

/** Failures of the provider, which another model may not have. */
export const UNREACHABLE: readonly FailureClass[] = ['transient', 'rate_limit'];
