/** The request of one model call: messages, tools, reply schema and limits. */
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

/** The engine checks replies itself, so a schema that a provider's strict mode rejects is not an error. */
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

/** Providers enforce object schemas only. The engine checks every schema. */
function formatOf(schema: Json): LanguageModelV4CallOptions['responseFormat'] {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema) || schema['type'] !== 'object')
    return undefined;
  return { type: 'json', schema: schema as JSONSchema7, name: 'reply' };
}
