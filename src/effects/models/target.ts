/** Which model a call goes to, at which address, with which key: found in the flow, on the command line, in the environment. */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { readModelRef } from '../../catalog/providers.ts';
import { DEFAULT_MODEL } from '../../ir/price.ts';
import type { Price } from '../../ir/price.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { ELSEWHERE, PROVIDERS, withPath } from './providers.ts';
import type { Provider } from './providers.ts';

export type Env = { readonly [name: string]: string | undefined };

export interface TargetOptions {
  /** What agents run on that name no model: an alias, or `provider/model`. */
  readonly model?: string;
  readonly env?: Env;
  /** The price of a model that the flow holds none for. */
  readonly priceOf?: (provider: string, model: string) => Price | null;
}

export interface Target {
  /** `provider/model`, as reports name it. */
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly how: Provider;
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
  /** The variable that the key is taken from, or would be. */
  readonly keyFrom: string | undefined;
  readonly price: Price | undefined;
  readonly options: { readonly [name: string]: Json };
  readonly requestsPerMinute: number | undefined;
}

/** The alias that a model call goes to: what stands in, what the agent names, or the default. */
export function targetOf(
  flow: CompiledFlow,
  agent: string,
  standIn: string | undefined,
  options: TargetOptions,
): Target {
  const named = standIn ?? flow.agents[agent]?.model ?? null;
  const alias = named ?? options.model ?? DEFAULT_MODEL;
  const entry = (flow.models[alias] ?? readModelRef(alias)) as Entry | null;
  if (entry === null) throw nothingToRunOn(agent, alias);
  const { provider, model } = entry;
  const env = options.env ?? process.env;
  const how = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  const address = entry.base_url ?? (how?.baseUrlEnv === undefined ? undefined : env[how.baseUrlEnv]) ?? how?.baseUrl;
  const found = how ?? ELSEWHERE;
  if (found.protocol === 'compatible' && address === undefined) throw unknownProvider(provider, model);
  const variables = entry.api_key_env === undefined ? found.keys : [entry.api_key_env];
  const keyFrom = variables.find((name) => (env[name] ?? '') !== '') ?? variables[0];
  return {
    name: `${provider}/${model}`,
    provider,
    model,
    how: entry.api_key_env === undefined ? found : { ...found, open: undefined },
    baseUrl: address === undefined ? undefined : withPath(address, found.protocol),
    key: keyFrom === undefined ? undefined : env[keyFrom] || undefined,
    keyFrom,
    price: entry.price ?? options.priceOf?.(provider, model) ?? undefined,
    options: entry.options ?? {},
    requestsPerMinute: entry.limits?.requests_per_minute,
  };
}

/** One clear line, before anything is sent. */
export function demandKey({ key, keyFrom, how, name }: Target): void {
  if (key !== undefined || how.open === true) return;
  throw new SluiceError(
    'no-credentials',
    `the model \`${name}\` needs a key, and \`${keyFrom ?? ''}\` is not set`,
    `Set \`${keyFrom ?? ''}\` in the environment, or rehearse with \`--script FILE\`.`,
  );
}

interface Entry {
  readonly provider: string;
  readonly model: string;
  readonly price?: Price;
  readonly base_url?: string;
  readonly api_key_env?: string;
  readonly options?: { readonly [name: string]: Json };
  readonly limits?: { readonly requests_per_minute?: number };
}

function nothingToRunOn(agent: string, alias: string): SluiceError {
  if (alias === DEFAULT_MODEL)
    return new SluiceError(
      'no-model',
      `the flow calls the agent \`${agent}\`, and there is no model to run it on`,
      'Pass `--model provider/model`, set `SLUICE_MODEL`, or rehearse with `--script FILE`.',
    );
  return new SluiceError(
    'no-model',
    `\`${alias}\`, which the agent \`${agent}\` runs on, names no provider`,
    'Write `provider/model`, such as `openai/gpt-5-mini`.',
  );
}

function unknownProvider(provider: string, model: string): SluiceError {
  const known = Object.keys(PROVIDERS).join(', ');
  return new SluiceError(
    'no-model',
    `it is not known where the provider \`${provider}\` of \`${model}\` is`,
    `Give the model a \`base_url\` under \`models\`, or use one of: ${known}.`,
  );
}
