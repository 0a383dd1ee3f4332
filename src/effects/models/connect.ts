/** A target as a language model. The provider's package is loaded when it is first called, so that starting stays quick. */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { oneRequest } from './one-request.ts';
import type { Fetch } from './one-request.ts';
import type { Target } from './target.ts';

export async function connect(target: Target, inner?: Fetch): Promise<LanguageModelV4> {
  const { how, model, baseUrl, provider } = target;
  const settings = { fetch: oneRequest(inner), ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) };
  // An empty key keeps the packages from looking into the environment themselves.
  const apiKey = target.key ?? 'none';
  switch (how.protocol) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ ...settings, apiKey }).responses(model);
    }
    case 'openai-chat': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ ...settings, apiKey }).chat(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ ...settings, apiKey })(model);
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ ...settings, apiKey })(model);
    }
    case 'compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const own = {
        name: provider,
        baseURL: baseUrl ?? '',
        includeUsage: true,
        supportsStructuredOutputs: how.schemas !== false,
      };
      return createOpenAICompatible({ ...settings, ...own, ...(target.key === undefined ? {} : { apiKey }) })(model);
    }
  }
}
