/** What is sent for one model call: the messages, the granted tools, the form of the reply, and the limits. Nothing else. */
import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { AgentDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';
import { promptOf } from '../prompt/prompt.ts';
import { toPrompt } from './messages.ts';
import type { Target } from './target.ts';
import { offerTools } from './tool-names.ts';
import type { Describe, Offer } from './tool-names.ts';

export interface Request {
  readonly options: LanguageModelV4CallOptions;
  readonly offer: Offer;
}

export function requestFor(
  { command, flow, signal }: Call,
  agent: AgentDef,
  target: Target,
  describe?: Describe,
): Request {
  const offer = offerTools(flow, agent, describe);
  const responseFormat = formatOf(agent.output);
  const options: LanguageModelV4CallOptions = {
    prompt: toPrompt(promptOf(flow, command), offer),
    abortSignal: signal,
    providerOptions: {
      [optionsName(target)]: {
        ...(responseFormat === undefined ? {} : LENIENT[target.how.protocol]),
        ...target.options,
      },
    },
    ...(agent.maxOutputTokens === null ? {} : { maxOutputTokens: agent.maxOutputTokens }),
    ...(agent.temperature === null ? {} : { temperature: agent.temperature }),
    ...(offer.tools.length === 0 ? {} : { tools: offer.tools, toolChoice: { type: 'auto' } }),
    ...(responseFormat === undefined ? {} : { responseFormat }),
  };
  return { options, offer };
}

/** Replies are judged by our own reading of the schema, so a schema that a provider's strict mode forbids is no error. */
const LENIENT: { readonly [protocol in Target['how']['protocol']]: { readonly [option: string]: boolean } } = {
  openai: { strictJsonSchema: false },
  'openai-chat': { strictJsonSchema: false },
  anthropic: {},
  google: {},
  compatible: { strictJsonSchema: false },
};

function optionsName({ how, provider }: Target): string {
  if (how.protocol === 'compatible') return provider;
  return how.protocol === 'openai-chat' ? 'openai' : how.protocol;
}

/** Providers can be held to an object only; any other schema is still what the reply is judged by. */
function formatOf(schema: Json): LanguageModelV4CallOptions['responseFormat'] {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema) || schema['type'] !== 'object')
    return undefined;
  return { type: 'json', schema: schema as JSONSchema7, name: 'reply' };
}
