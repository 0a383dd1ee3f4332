/** The request of one model call: messages, tools, reply schema and limits. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { AgentDef, Command } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AttachmentStore, Call } from '@sluice-internal/engine/ports';
import { keepsForHour } from '@sluice-internal/kernel/catalog';
import { promptOf, turnOf } from '@sluice-internal/platform';
import { filesFor, namedIn } from './attachments.ts';
import { toPrompt } from './messages.ts';
import { tuningOf, type Tuning } from './options.ts';
import type { Target } from './target.ts';
import { offerTools, type Offer } from './tool-names.ts';

export interface Request {
  readonly options: LanguageModelV4CallOptions;
  readonly tuning: Tuning;
  readonly offer: Offer;
}

export async function requestFor(
  { command, flow, signal, pins }: Call,
  agent: AgentDef,
  target: Target,
  attachments: AttachmentStore | undefined,
): Promise<Request> {
  const offer = offerTools(flow, agent);
  const responseFormat = formatOf(agent.output);
  const hasTools = offer.tools.length > 0;
  const preset = responseFormat === undefined ? {} : strictness(target, agent.output);
  const tuning = tuningOf(target, agent, hasTools, preset);
  const messages = promptOf(flow, command);
  const files = filesFor({ flow, pins }, target, await namedIn(messages, command.run, attachments));
  const options: LanguageModelV4CallOptions = {
    prompt: withBreakpoints(toPrompt(messages, offer, files), target),
    abortSignal: signal,
    providerOptions: tuning.providerOptions,
    ...tuning.call,
    ...(hasTools ? { tools: offer.tools, toolChoice: choiceOf(agent, command, offer) } : {}),
    ...(responseFormat === undefined ? {} : { responseFormat }),
  };
  return { options, offer, tuning };
}

/** A forced choice applies until the turn has a result of a tool. Otherwise the turn could not end. */
function choiceOf(
  { settings }: AgentDef,
  { input }: Command,
  offer: Offer,
): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  const choice = settings?.toolChoice ?? 'auto';
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (turnOf(input['messages']).some(({ role }) => role === 'tool')) return { type: 'auto' };
  return choice === 'required' ? { type: choice } : { type: 'tool', toolName: offer.sent(choice.tool) };
}

/**
 * Marks where Claude models may cache: after the tools and instructions, and after the last two messages that are not replies.
 * The next request starts with the same messages, so the provider finds the longest marked part in its cache.
 */
function withBreakpoints(prompt: LanguageModelV4Prompt, target: Target): LanguageModelV4Prompt {
  if (!isClaude(target)) return prompt;
  const isInput = ({ role }: LanguageModelV4Message): boolean => role === 'user' || role === 'tool';
  const marked = new Set([
    prompt.findLastIndex(({ role }) => role === 'system'),
    prompt.findLastIndex(isInput),
    prompt.findLastIndex((message, index) => isInput(message) && index < prompt.findLastIndex(isInput)),
  ]);
  const providerOptions = keepsForHour(target.options) ? CACHED_FOR_HOUR : CACHED;
  return prompt.map((message, index) => (marked.has(index) ? { ...message, providerOptions } : message));
}

/** Anthropic, and packages and model objects that reach a Claude model. */
function isClaude({ how, model }: Target): boolean {
  return how.protocol === 'anthropic' || (how.protocol === 'package' && /claude/.test(model));
}

/** Each package reads the mark under its own name. */
const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } }, bedrock: { cachePoint: { type: 'default' } } };
/** A provider refuses a mark for an hour after a mark for five minutes, so all marks ask for the same time. */
const CACHED_FOR_HOUR = {
  anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } },
  bedrock: { cachePoint: { type: 'default', ttl: '1h' } },
};

/**
 * OpenAI enforces a schema in strict mode if the schema keeps the rules of that mode. The engine checks every reply, so
 * other schemas are sent without it. Many servers with the same protocol reject strict mode, so they get it only by option.
 */
function strictness({ how }: Target, schema: Json): { readonly strictJsonSchema?: boolean } {
  if (how.protocol === 'openai' || how.protocol === 'openai-chat') return { strictJsonSchema: allowsStrict(schema) };
  return how.protocol === 'compatible' ? { strictJsonSchema: false } : {};
}

/** Providers enforce object schemas only. The engine checks every schema. */
function formatOf(schema: Json): LanguageModelV4CallOptions['responseFormat'] {
  if (!isRecord(schema) || schema['type'] !== 'object') return undefined;
  return { type: 'json', schema: schema as JSONSchema7, name: 'reply' };
}

const DEPTH_MAX = 10;
const PROPERTIES_MAX = 5000;
const FORMATS = /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;
/** Keywords whose value is not a schema. */
const PLAIN =
  /^(title|description|enum|const|pattern|multipleOf|minimum|maximum|exclusiveMinimum|exclusiveMaximum|minItems|maxItems|required|additionalProperties)$/;
const TYPES = /^(string|number|integer|boolean|object|array|null)$/;

/** True if strict mode accepts the schema: the root is an object, and every object requires all its properties and allows no others. */
export function allowsStrict(schema: Json): boolean {
  return isRecord(schema) && schema['type'] === 'object' && isStrict(schema, 1, { properties: 0 });
}

interface Count {
  properties: number;
}

function isStrict(schema: Json, depth: number, count: Count): boolean {
  if (!isRecord(schema) || depth > DEPTH_MAX) return false;
  if (!isStrictObject(schema, count)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (PLAIN.test(keyword)) return true;
    switch (keyword) {
      case 'type':
        return (Array.isArray(value) ? value : [value]).every((type) => TYPES.test(String(type)));
      case 'format':
        return FORMATS.test(String(value));
      case '$ref':
        return typeof value === 'string' && value.startsWith('#');
      case 'items':
        return isStrict(value, depth + 1, count);
      case 'anyOf':
        return Array.isArray(value) && value.every((each) => isStrict(each, depth + 1, count));
      case 'properties':
      case '$defs':
        return isRecord(value) && Object.values(value).every((each) => isStrict(each, depth + 1, count));
      default:
        return false;
    }
  });
}

function isStrictObject(schema: { readonly [keyword: string]: Json }, count: Count): boolean {
  const { type, properties, required, additionalProperties } = schema;
  const isOfObjects = type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (!isOfObjects) return required === undefined && additionalProperties === undefined;
  if (additionalProperties !== false || !isRecord(properties)) return false;
  const names = Object.keys(properties);
  count.properties += names.length;
  const listed: readonly Json[] = Array.isArray(required) ? required : [];
  return count.properties <= PROPERTIES_MAX && names.every((name) => listed.includes(name));
}
