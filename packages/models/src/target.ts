/** Finds the model, address, key and price for a call from the flow, the options and the environment. */
import { DEFAULT_MODEL } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Price } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  ATTACHMENT_KINDS,
  CUSTOM_PROVIDER,
  PACKAGE_PROVIDER,
  PROVIDERS,
  keysIn,
  kindsTakenBy,
  packageOf,
  readModelRef,
} from '@sluice-internal/kernel/catalog';
import type { AttachmentKind, ModelRef, Protocol, Provider } from '@sluice-internal/kernel/catalog';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ModelObject } from './model-object.ts';

export type Env = { readonly [name: string]: string | undefined };

export interface TargetOptions {
  /** The model for agents that name none: an alias of `models`, or `provider/model`. */
  readonly model?: string;
  /** Holds the keys and addresses. Default: the environment of the process. */
  readonly env?: Env;
  /** Looks up the price of a model whose price is not in the flow. */
  readonly priceOf?: (provider: string, model: string) => Price | null;
  /** Model objects of the program by alias. They take the place of models of the document with the same alias. */
  readonly objects?: { readonly [alias: string]: ModelObject };
}

export interface Target {
  /** `provider/model`, as reports show it. */
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly how: Provider;
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
  /** Every configured key and secret header, of this model and of others. */
  readonly secrets: readonly string[];
  /** The environment variable that holds the key, or the one to set. */
  readonly keyFrom: string | undefined;
  readonly price: Price | undefined;
  readonly options: { readonly [name: string]: Json };
  readonly requestsPerMinute: number | undefined;
  /** The number of times that a failed request is repeated. */
  readonly retries: number;
  /** The time of one call. */
  readonly timeoutMs: number;
  readonly headers: { readonly [name: string]: string };
  /** Settings of the factory of a provider package. */
  readonly settings: { readonly [name: string]: Json };
  /** The kinds of attachments that the model takes. */
  readonly accepts: readonly AttachmentKind[];
  /** A model object of the program. */
  readonly object: ModelObject | undefined;
}

const RETRIES_DEFAULT = 2;
const TIMEOUT_DEFAULT_S = 120;

/** `fallback` is the alias of a fallback model; without it, the agent's own model or the default is used. */
export function targetOf(
  flow: CompiledFlow,
  agent: string,
  fallback: string | undefined,
  options: TargetOptions,
): Target {
  const alias = fallback ?? flow.agents[agent]?.model ?? options.model ?? DEFAULT_MODEL;
  const object = objectOf(alias, options);
  const entry = entryOf(flow, agent, alias, object);
  const { provider, model, retries = RETRIES_DEFAULT, timeout = TIMEOUT_DEFAULT_S, settings = {} } = entry;
  const env = options.env ?? process.env;
  const how = object === undefined ? providerOf(provider) : PACKAGE_PROVIDER;
  return {
    name: `${provider}/${model}`,
    provider,
    model,
    how: entry.api_key_env === undefined ? how : { ...how, open: undefined },
    baseUrl: addressOf(entry, how, env),
    ...keyOf(entry, how, env),
    secrets: secretsOf(flow, entry, env),
    price: priceFor(entry, options),
    options: entry.options ?? {},
    requestsPerMinute: entry.limits?.requests_per_minute,
    retries,
    timeoutMs: timeout * 1000,
    headers: headersOf(entry),
    settings,
    accepts: acceptedBy(entry, object),
    object,
  };
}

/** The kinds of attachments of a model object. If its name is not known here, the program decides. */
function acceptedBy({ accepts, model }: Entry, object: ModelObject | undefined): readonly AttachmentKind[] {
  return accepts ?? kindsTakenBy(model) ?? (object === undefined ? [] : ATTACHMENT_KINDS);
}

function objectOf(alias: string, { objects = {} }: TargetOptions): ModelObject | undefined {
  return Object.hasOwn(objects, alias) ? objects[alias] : undefined;
}

function priceFor({ provider, model, price }: Entry, { priceOf }: TargetOptions): Price | undefined {
  return price ?? priceOf?.(provider, model) ?? undefined;
}

/** Throws a SluiceError if the model needs a key and none is set. */
export function requireKey({ key, keyFrom, how, name }: Target): void {
  if (key !== undefined || how.open === true) return;
  throw new SluiceError(
    'no-credentials',
    `the model \`${name}\` needs a key, and \`${keyFrom ?? ''}\` is not set`,
    `Set \`${keyFrom ?? ''}\` in the environment, or use \`--script FILE\` to run without a model.`,
  );
}

/** An entry of the `models` section. */
interface Entry {
  readonly provider: string;
  readonly model: string;
  readonly price?: Price;
  readonly base_url?: string;
  readonly api_key_env?: string;
  readonly options?: { readonly [name: string]: Json };
  readonly limits?: { readonly requests_per_minute?: number };
  readonly retries?: number;
  /** Seconds. */
  readonly timeout?: number;
  readonly headers?: { readonly [name: string]: string };
  readonly organization?: string;
  readonly settings?: { readonly [name: string]: Json };
  readonly accepts?: readonly AttachmentKind[];
}

function entryOf(flow: CompiledFlow, agent: string, alias: string, object: ModelObject | undefined): Entry {
  const declared = Object.hasOwn(flow.models, alias) ? flow.models[alias] : undefined;
  const entry = (declared ?? (object === undefined ? readModelRef(alias) : refOf(object))) as Entry | null;
  if (entry === null) throw noModel(agent, alias);
  return entry;
}

/** `openai.responses` is a protocol of the provider `openai`. */
function refOf({ provider, modelId }: ModelObject): ModelRef {
  return { provider: provider.split('.')[0] ?? provider, model: modelId };
}

function providerOf(name: string): Provider {
  if (packageOf(name) !== null) return PACKAGE_PROVIDER;
  return (Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined) ?? CUSTOM_PROVIDER;
}

function addressOf({ provider, model, base_url }: Entry, how: Provider, env: Env): string | undefined {
  const address = base_url ?? (how.baseUrlEnv === undefined ? undefined : env[how.baseUrlEnv]) ?? how.baseUrl;
  if ((how.protocol === 'compatible' || how.protocol === 'a2a') && address === undefined)
    throw unknownProvider(provider, model);
  if (address === undefined) return undefined;
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(address)) throw withPassword(provider, model);
  return withPath(address, how.protocol);
}

function keyOf({ api_key_env }: Entry, how: Provider, env: Env): Pick<Target, 'key' | 'keyFrom'> {
  const variables = api_key_env === undefined ? how.keys : [api_key_env];
  const keyFrom = variables.find((name) => (env[name] ?? '') !== '') ?? variables[0];
  return { key: keyFrom === undefined ? undefined : env[keyFrom] || undefined, keyFrom };
}

const SECRET_NAME = /auth|key|token|secret|cookie|password/i;

/** Keys of all models and providers, and values of headers and settings whose names mark them as secret. */
function secretsOf(flow: CompiledFlow, { headers, settings }: Entry, env: Env): readonly string[] {
  const named = (Object.values(flow.models) as unknown as Entry[]).flatMap(({ api_key_env: name }) => name ?? []);
  const written = Object.entries({ ...headers, ...settings }).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && typeof value === 'string' ? value.split(' ') : [],
  );
  return [...new Set([...keysIn(env), ...named.flatMap((name) => env[name] ?? []), ...written])];
}

function headersOf({ headers, organization }: Entry): Target['headers'] {
  return { ...(organization === undefined ? {} : { 'OpenAI-Organization': organization }), ...headers };
}

/** Adds the usual path to an address that has none. */
function withPath(baseUrl: string, protocol: Protocol): string {
  if (protocol === 'package' || protocol === 'a2a' || !URL.canParse(baseUrl) || new URL(baseUrl).pathname !== '/')
    return baseUrl;
  return `${baseUrl.replace(/\/$/, '')}/${protocol === 'google' ? 'v1beta' : 'v1'}`;
}

function noModel(agent: string, alias: string): SluiceError {
  if (alias === DEFAULT_MODEL)
    return new SluiceError(
      'no-model',
      `the agent \`${agent}\` has no model`,
      'Pass `--model provider/model`, set `SLUICE_MODEL`, or use `--script FILE` to run without a model.',
    );
  return new SluiceError(
    'no-model',
    `the model \`${alias}\` of the agent \`${agent}\` has no provider`,
    'Write `provider/model`, such as `openai/gpt-5-mini`.',
  );
}

/** `fetch` refuses such an address with an error that repeats it. */
function withPassword(provider: string, model: string): SluiceError {
  return new SluiceError(
    'no-model',
    `the address of the model \`${provider}/${model}\` has a user name or a password`,
    'Leave them out of `base_url` or its variable, and write a header under `headers` of the model.',
  );
}

function unknownProvider(provider: string, model: string): SluiceError {
  const known = Object.keys(PROVIDERS).join(', ');
  return new SluiceError(
    'no-model',
    `the provider \`${provider}\` of the model \`${model}\` is unknown`,
    `Give the model a \`base_url\` under \`models\`, or use one of: ${known}.`,
  );
}
