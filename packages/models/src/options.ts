/**
 * The options and settings of a model call. No option is lost: known options go through the AI SDK, and all others are
 * written into the request as the author wrote them. A setting that the AI SDK leaves out of a request is put back, so that
 * the provider answers it with its own error.
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions, SharedV4Warning } from '@ai-sdk/provider';
import { SDK_OPTIONS } from '@sluice-internal/kernel/catalog';
import type { Protocol } from '@sluice-internal/kernel/catalog';
import { isRecord, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentDef, CallSettings } from '@sluice-internal/kernel/ir';
import { fail } from '@sluice-internal/engine/ports';
import type { Target } from './target.ts';

type Fields = { readonly [name: string]: Json };

export interface Tuning {
  readonly call: Pick<
    LanguageModelV4CallOptions,
    'temperature' | 'topP' | 'seed' | 'stopSequences' | 'reasoning' | 'maxOutputTokens'
  >;
  readonly providerOptions: SharedV4ProviderOptions;
  /** Written into the body of the request. */
  readonly body: BodyFields;
  /** Names whose loss is an error. */
  readonly required: ReadonlySet<string>;
}
export interface BodyFields {
  /** Replaces fields of the body. */
  readonly over: Fields;
  /** Added if the body lacks the field. */
  readonly missing: Fields;
  /** The limit that is reserved for the reply. The request must not ask for more. */
  readonly cap?: OutputCap;
}
interface OutputCap {
  readonly tokens: number;
  /** True if the author wrote how many tokens the model may think. */
  readonly hasThinking: boolean;
}

/** `preset`: options that the engine sets; the author's own take precedence. */
export function tuningOf(target: Target, agent: AgentDef, hasTools: boolean, preset: Fields): Tuning {
  const { settings = {}, temperature, maxOutputTokens } = agent;
  const { protocol } = target.how;
  const { known, raw } = splitOptions(target.options, protocol);
  const parallel = hasTools ? settings.parallelToolCalls : undefined;
  const { topP, seed, stop, reasoningEffort } = settings;
  const given = present({ temperature: temperature ?? undefined, topP, seed });
  if (maxOutputTokens !== null) refuseLargerCap(target, maxOutputTokens);
  const isSerial = protocol === 'anthropic' && parallel !== undefined ? !parallel : undefined;
  return {
    call: {
      ...given,
      ...present({ maxOutputTokens: maxOutputTokens ?? undefined, reasoning: reasoningEffort }),
      ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    },
    providerOptions: {
      [optionsName(target)]: { ...preset, ...present({ disableParallelToolUse: isSerial }), ...known },
    },
    body: {
      over: raw,
      ...(maxOutputTokens === null ? {} : { cap: { tokens: maxOutputTokens, hasThinking: 'thinking' in known } }),
      missing: settingFields(protocol, {
        ...given,
        ...present({
          stop: stop && [...stop],
          reasoningEffort,
          parallel: isSerial === undefined ? parallel : undefined,
        }),
      }),
    },
    required: new Set([...Object.keys(known), ...requiredSettings(settings, protocol)]),
  };
}

/** An option that raises the limit of a reply would spend more than is reserved for it. */
function refuseLargerCap({ name, options }: Target, cap: number): void {
  const { generationConfig = {} } = options;
  const found = Object.entries({ ...options, ...(generationConfig as Fields) }).find(
    ([key, value]) => OUTPUT_CAPS.has(key) && Number(value) > cap,
  );
  if (found === undefined) return;
  const message = `${name}: the option \`${found[0]}\` is above the limit of ${cap} output tokens; set \`max_output_tokens\` on the agent instead`;
  throw fail('fatal', 'OptionError', message);
}
const OUTPUT_CAPS: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'maxCompletionTokens',
  'maxOutputTokens',
]);

/** Settings whose loss cannot be corrected in the request. */
function requiredSettings({ toolChoice, reasoningEffort }: CallSettings, protocol: Protocol): readonly string[] {
  return [
    ...(toolChoice === undefined ? [] : ['toolChoice']),
    ...(reasoningEffort === undefined ? [] : ['reasoning', 'effort', 'thinking']),
    ...(protocol === 'package' ? PACKAGE_SETTINGS : []),
  ];
}

/** Settings that cannot be put back into the request of a package. */
const PACKAGE_SETTINGS = ['temperature', 'topP', 'seed', 'stopSequences', 'maxOutputTokens'];

export interface WatchedOptions {
  readonly providerOptions: SharedV4ProviderOptions;
  /** Throws if the package did not read an option. */
  refuseUnread(): void;
}

/** The options of a package, under the names that packages look for. A record is kept of the options that it reads. */
export function watchOptions(target: Target, provider: string): WatchedOptions {
  const unread = new Set(Object.keys(target.options));
  const watched = Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(target.options).map(([name, value]) => [
        name,
        { enumerable: true, get: () => (unread.delete(name), value) },
      ]),
    ),
  ) as { [name: string]: Json };
  const refuseUnread = (): void => {
    const [name] = unread;
    if (name === undefined) return;
    throw fail('fatal', 'OptionError', `${target.name} does not know the option \`${name}\``);
  };
  const names = unread.size === 0 ? [] : optionNames(provider);
  return { providerOptions: Object.fromEntries(names.map((name) => [name, watched])), refuseUnread };
}

/** The name of the provider, and the names that its package takes besides. */
function optionNames(provider: string): readonly string[] {
  const [first = provider] = provider.split('.');
  const camel = first.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const others = Object.entries(ALSO_KNOWN_AS).flatMap(([part, names]) => (provider.includes(part) ? names : []));
  return [...new Set([first, camel, ...others])];
}
const ALSO_KNOWN_AS: { readonly [part: string]: readonly string[] } = {
  azure: ['openai'],
  bedrock: ['bedrock'],
  vertex: ['vertex', 'google', 'anthropic'],
};

/** Throws if the AI SDK reports that it left out something that the author asked for. */
export function refuseLosses(warnings: readonly SharedV4Warning[], { required }: Tuning, target: Target): void {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported') continue;
    const name = warning.feature.slice(warning.feature.lastIndexOf('.') + 1);
    if (!required.has(name)) continue;
    const why = warning.details === undefined ? '' : `: ${warning.details}`;
    throw fail('fatal', 'OptionError', `${target.name} does not take the option \`${name}\`${why}`);
  }
}

/** The body of a request with the fields that are written into it. A body that is not a JSON object stays as it is. */
export function withBodyFields(body: string, { over, missing, cap }: BodyFields): string {
  if (Object.keys(over).length === 0 && Object.keys(missing).length === 0 && cap === undefined) return body;
  const parsed = JSON.parse(body) as Json;
  if (!isRecord(parsed)) return body;
  return JSON.stringify(merged(merged(missing, cap === undefined ? parsed : withinCap(parsed, cap)), over));
}

/**
 * For Claude models the AI SDK adds the tokens for thinking to the limit. Thinking is output and is paid for, so the limit
 * stays. Thinking that follows from `reasoning_effort` takes at most four fifths of it.
 */
function withinCap(body: Fields, { tokens, hasThinking }: OutputCap): Fields {
  const { max_tokens: sent, thinking = null } = body;
  if (typeof sent !== 'number' || sent <= tokens) return body;
  const budget = isRecord(thinking) ? thinking['budget_tokens'] : undefined;
  if (!isRecord(thinking) || typeof budget !== 'number' || hasThinking) return { ...body, max_tokens: tokens };
  const budget_tokens = Math.max(THINKING_TOKENS_MIN, Math.min(budget, Math.floor(tokens * 0.8)));
  return { ...body, max_tokens: tokens, thinking: { ...thinking, budget_tokens } };
}
/** The provider rejects less. */
const THINKING_TOKENS_MIN = 1024;

function optionsName({ how, provider }: Target): string {
  if (how.protocol === 'compatible' || how.protocol === 'package') return provider;
  return how.protocol === 'openai-chat' ? 'openai' : how.protocol;
}

/** An option with a name of the provider's own protocol inside, such as `thinking.budget_tokens`, is sent as written. */
function splitOptions(options: Fields, protocol: Protocol): { readonly known: Fields; readonly raw: Fields } {
  if (protocol === 'package') return { known: {}, raw: {} };
  const entries = Object.entries(options);
  const isKnown = ([name, value]: [string, Json]): boolean => SDK_OPTIONS[protocol].has(name) && !hasWireName(value);
  return {
    known: Object.fromEntries(entries.filter(isKnown)),
    raw: Object.fromEntries(entries.filter((entry) => !isKnown(entry))),
  };
}

function hasWireName(value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasWireName);
  return isRecord(value) && Object.entries(value).some(([name, inner]) => name.includes('_') || hasWireName(inner));
}

/** The settings under the names of the protocol. */
function settingFields(protocol: Protocol, settings: Fields): Fields {
  const { topP, stop, reasoningEffort, parallel, ...same } = settings;
  const common = { ...same, top_p: topP, parallel_tool_calls: parallel };
  switch (protocol) {
    case 'package':
    case 'a2a':
      return {};
    case 'google': {
      const config = present({ ...same, topP, stopSequences: stop });
      return Object.keys(config).length === 0 ? {} : { generationConfig: config };
    }
    case 'anthropic':
      return present({ ...common, stop_sequences: stop });
    case 'openai':
      return present({ ...common, stop, reasoning: reasoningEffort && { effort: reasoningEffort } });
    case 'openai-chat':
    case 'compatible':
      return present({ ...common, stop, reasoning_effort: reasoningEffort });
  }
}

/** Objects are merged field by field; of other values, the second one counts. */
function merged(first: Fields, second: Fields): Fields {
  const both: { [name: string]: Json } = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const known = both[name];
    both[name] = isRecord(known) && isRecord(value) ? merged(known, value) : value;
  }
  return both;
}
