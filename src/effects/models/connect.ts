/** Creates the AI SDK model for a target. The provider's package is loaded at the first call, to keep start-up quick. */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { PerformError } from '../../runtime/failures.ts';
import type { Target } from './target.ts';

export type Fetch = typeof globalThis.fetch;

export const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;

export async function connect(target: Target, inner?: Fetch): Promise<LanguageModelV4> {
  const { how, model, baseUrl, provider } = target;
  const settings = { fetch: oneRequest(inner), ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) };
  // A placeholder stops the package from reading the environment itself.
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

/**
 * Sends one HTTP request per call. Redirects are not followed, so the prompt and the key reach the configured address only.
 * The size of the response is limited.
 */
function oneRequest(inner: Fetch = globalThis.fetch): Fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limitSize()), { status, statusText, headers });
  };
}

function limitSize(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength;
      if (bytes <= RESPONSE_BYTES_MAX) return controller.enqueue(chunk);
      const message = `the response is larger than ${RESPONSE_BYTES_MAX} bytes`;
      controller.error(new PerformError({ class: 'fatal', type: 'ResponseTooLargeError', message }));
    },
  });
}
