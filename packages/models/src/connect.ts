/** Creates the AI SDK model for a target. The provider's package is loaded at the first call, to keep start-up quick. */
import type * as Anthropic from '@ai-sdk/anthropic';
import type * as Google from '@ai-sdk/google';
import type * as OpenAi from '@ai-sdk/openai';
import type * as Compatible from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { LIMITS } from '@sluice-internal/kernel/ir';
import { fail } from '@sluice-internal/engine/ports';
import { importOptional, limitSize } from '@sluice-internal/platform';
import type { Bytes } from '@sluice-internal/platform';
import { connectA2a } from './a2a.ts';
import { adapt } from './adapt.ts';
import { lenient } from './lenient.ts';
import { withBodyFields, type BodyFields } from './options.ts';
import type { Fetch } from './model-object.ts';
import { PACKAGES, connectPackage } from './packages.ts';
import type { Target } from './target.ts';

export const RESPONSE_BYTES_MAX = LIMITS.response;

export interface ConnectOptions {
  readonly fetch?: Fetch | undefined;
  /** The longest time without a byte once a response has started. */
  readonly idleTimeoutMs: number;
  /** The folder from which provider packages are loaded. */
  readonly folder: string;
  /** Fields that are written into the body of every request. */
  readonly body?: BodyFields;
  /** The form that the response must have. */
  readonly form?: ResponseForm;
}

export interface ResponseForm {
  readonly isStream: boolean;
  /** Set if the response has the other form: a body instead of a stream, or the reverse. */
  other?: Response;
}

export async function connect(target: Target, options: ConnectOptions): Promise<LanguageModelV4> {
  const { how, model, baseUrl, provider, headers, object } = target;
  if (object !== undefined) return adapt(object);
  const settings = {
    fetch: oneRequest(target, options),
    headers,
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
  };
  // A placeholder stops the package from reading the environment itself.
  const apiKey = target.key ?? 'none';
  const givenKey = target.key === undefined ? {} : { apiKey };
  switch (how.protocol) {
    case 'package':
      return connectPackage(provider, model, options.folder, {
        ...settings,
        ...givenKey,
        ...target.settings,
      });
    case 'openai':
    case 'openai-chat': {
      const { createOpenAI } = (await load(how.protocol)) as typeof OpenAi;
      const openai = createOpenAI({ ...settings, apiKey });
      return how.protocol === 'openai' ? openai.responses(model) : openai.chat(model);
    }
    case 'anthropic': {
      const { createAnthropic } = (await load(how.protocol)) as typeof Anthropic;
      return createAnthropic({ ...settings, apiKey })(model);
    }
    case 'google': {
      const { createGoogle } = (await load(how.protocol)) as typeof Google;
      return createGoogle({ ...settings, apiKey })(model);
    }
    case 'a2a':
      return connectA2a({ ...settings, url: baseUrl ?? '', model, key: target.key });
    case 'compatible': {
      const { createOpenAICompatible } = (await load(how.protocol)) as typeof Compatible;
      const own = {
        name: provider,
        baseURL: baseUrl ?? '',
        includeUsage: true,
        supportsStructuredOutputs: how.schemas !== false,
      };
      return createOpenAICompatible({ ...settings, ...own, ...givenKey })(model);
    }
  }
}

function load(protocol: keyof typeof PACKAGES): Promise<unknown> {
  return importOptional(PACKAGES[protocol], 'this model');
}

/**
 * Sends one HTTP request per call. Redirects are not followed, so the prompt and the key reach the configured address only.
 * The size of the response is limited, and so is the time between two of its bytes.
 */
function oneRequest(
  { name, how }: Target,
  { fetch: send = globalThis.fetch, idleTimeoutMs, body: fields, form }: ConnectOptions,
): Fetch {
  return async (input, init) => {
    const sent =
      fields === undefined || typeof init?.body !== 'string' ? {} : { body: withBodyFields(init.body, fields) };
    const response = await send(input, { ...init, ...sent, redirect: 'manual' });
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const limited = response.body.pipeThrough(limitSize(RESPONSE_BYTES_MAX, () => tooLarge(name)));
    const body = watchIdle(limited, name, idleTimeoutMs);
    if (status !== 200 || form === undefined) return new Response(body, { status, statusText, headers });
    const { isStream, whole } = await formOf(body);
    const rewrite = lenient(how.protocol, isStream ?? form.isStream);
    const received = new Response(rewrite === null ? whole : whole.pipeThrough(rewrite), {
      status,
      statusText,
      headers,
    });
    if (rewrite === null || isStream === null || isStream === form.isStream) return received;
    form.other = received;
    throw new Error('the response has the other form');
  };
}

function tooLarge(name: string): Error {
  const message = `${name}: the response is larger than ${RESPONSE_BYTES_MAX} bytes`;
  return fail('fatal', 'ResponseTooLargeError', message);
}

/** White space, and the bytes of a byte order mark. */
const BLANK: ReadonlySet<number> = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf]);
const BLANKS_MAX = 65_536;

/**
 * Reads up to the first character that shows the form: a stream of events, JSON or HTML, or null for anything else. Some servers
 * ignore the form that a request asks for.
 */
async function formOf(
  body: ReadableStream<Bytes>,
): Promise<{ readonly isStream: boolean | null; readonly whole: ReadableStream<Bytes> }> {
  const reader = body.getReader();
  const read: Bytes[] = [];
  let start: number | undefined;
  for (let bytes = 0; start === undefined && bytes < BLANKS_MAX;) {
    const { done, value } = await reader.read();
    if (done) break;
    read.push(value);
    bytes += value.length;
    start = value.find((byte) => !BLANK.has(byte));
  }
  const first = start === undefined ? '' : String.fromCodePoint(start);
  const isStream = /[a-z:]/.test(first) ? true : /[{<]/.test(first) ? false : null;
  const whole = new ReadableStream<Bytes>({
    pull: async (controller) => {
      const next = read.shift();
      if (next !== undefined) return controller.enqueue(next);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { isStream, whole };
}

function watchIdle(body: ReadableStream<Bytes>, name: string, idleTimeoutMs: number): ReadableStream<Bytes> {
  const reader = body.getReader();
  return new ReadableStream<Bytes>({
    pull: async (controller) => {
      const { promise: idle, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(noBytes(name, idleTimeoutMs)), idleTimeoutMs);
      try {
        const { done, value } = await Promise.race([reader.read(), idle]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function noBytes(name: string, idleTimeoutMs: number): Error {
  return fail('timeout', 'TimeoutError', `${name}: the response stalled: no byte for ${idleTimeoutMs / 1000} s`);
}
