/**
 * A remote agent that speaks the A2A protocol, as a model: one prompt, one text. The card of the agent names its address,
 * which must have the origin that the document gives, so the prompt and the key go nowhere else.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { fail } from '@sluice-internal/engine/ports';
import { tokenUsage } from './reply.ts';

export interface A2aOptions {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly fetch: typeof globalThis.fetch;
}

/** The current path of a card, then the older one. */
const CARDS = ['.well-known/agent-card.json', '.well-known/agent.json'];
const POLL_MS = 1000;

export function connectA2a(options: A2aOptions): LanguageModelV4 {
  const doGenerate = (call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> =>
    answer(options, call);
  return {
    specificationVersion: 'v4',
    provider: 'a2a',
    modelId: options.model,
    supportedUrls: {},
    doGenerate,
    doStream: async (call) => ({ stream: streamOf(await doGenerate(call)) }),
  };
}

async function answer(options: A2aOptions, call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  if ((call.tools ?? []).length > 0) throw fail('fatal', 'RemoteAgentError', 'a remote agent takes no tools');
  const address = await findAddress(options, call.abortSignal);
  const parts = [{ kind: 'text', text: promptText(call.prompt) }];
  const message = { kind: 'message', role: 'user', messageId: randomUUID(), parts };
  const params = { message, configuration: { blocking: true, acceptedOutputModes: ['text/plain'] } };
  const text = await finalText(options, address, params, call);
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'completed' },
    usage: tokenUsage(),
    warnings: unused(call),
  };
}

/** Settings that only a model has. */
function unused(call: LanguageModelV4CallOptions): SharedV4Warning[] {
  const features = ['temperature', 'topP', 'seed', 'stopSequences', 'reasoning'] as const;
  return features.flatMap((feature) =>
    call[feature] === undefined ? [] : [{ type: 'unsupported' as const, feature }],
  );
}

function streamOf({ content, ...rest }: LanguageModelV4GenerateResult): ReadableStream<LanguageModelV4StreamPart> {
  const delta = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return ReadableStream.from<LanguageModelV4StreamPart>([
    { type: 'stream-start', warnings: rest.warnings },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta },
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: rest.finishReason, usage: rest.usage },
  ]);
}

/** A remote agent takes one message, so the instructions and the messages follow each other in it. */
function promptText(prompt: LanguageModelV4Prompt): string {
  return prompt
    .map((message) => {
      if (message.role === 'system') return message.content;
      const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return message.role === 'assistant' ? `[you]\n${text}` : text;
    })
    .filter((text) => text !== '')
    .join('\n\n');
}

async function findAddress(options: A2aOptions, signal: AbortSignal | undefined): Promise<string> {
  const base = options.url.endsWith('/') ? options.url : `${options.url}/`;
  for (const path of CARDS) {
    const response = await send(options, new URL(path, base).href, { signal });
    if (response.status === 404) continue;
    const { url } = await jsonOf<{ readonly url?: unknown }>(response);
    const address = typeof url === 'string' && URL.canParse(url, base) ? new URL(url, base) : new URL(options.url);
    if (address.origin === new URL(options.url).origin) return address.href;
    const message = `the card of the remote agent names ${address.origin}, which is not the origin of ${options.url}`;
    throw fail('fatal', 'RemoteAgentError', message);
  }
  throw fail('fatal', 'ModelNotFoundError', `${options.url} has no agent card at ${CARDS.join(' or ')}`);
}

interface Part {
  readonly text?: unknown;
  readonly data?: unknown;
}
interface Result {
  readonly id?: unknown;
  readonly parts?: readonly Part[];
  readonly artifacts?: readonly { readonly parts?: readonly Part[] }[];
  readonly status?: { readonly state?: unknown; readonly message?: { readonly parts?: readonly Part[] } };
}

const WORKING: ReadonlySet<unknown> = new Set(['submitted', 'working']);
const ENDED_BADLY: ReadonlySet<unknown> = new Set(['failed', 'rejected', 'canceled', 'auth-required', 'unknown']);

/** The text of a message, or of a task once it has ended. */
async function finalText(
  options: A2aOptions,
  address: string,
  params: object,
  call: LanguageModelV4CallOptions,
): Promise<string> {
  let result = await request(options, address, 'message/send', params, call);
  while (WORKING.has(result.status?.state) && typeof result.id === 'string') {
    await sleep(POLL_MS, undefined, call.abortSignal === undefined ? {} : { signal: call.abortSignal });
    result = await request(options, address, 'tasks/get', { id: result.id }, call);
  }
  const statusText = textOf(result.status?.message?.parts);
  const { state } = result.status ?? {};
  if (ENDED_BADLY.has(state)) {
    const reason = statusText === '' ? '' : `: ${statusText}`;
    const kind = state === 'rejected' ? 'refused' : 'fatal';
    throw fail(kind, 'RemoteAgentError', `the task of the remote agent is ${String(state)}${reason}`);
  }
  const artifacts = (result.artifacts ?? []).map(({ parts }) => textOf(parts)).filter((text) => text !== '');
  return textOf(result.parts) || artifacts.join('\n\n') || statusText;
}

function textOf(parts: readonly Part[] | undefined): string {
  return (parts ?? [])
    .map((part) =>
      typeof part.text === 'string' ? part.text : part.data === undefined ? '' : JSON.stringify(part.data),
    )
    .filter((text) => text !== '')
    .join('\n');
}

/** One JSON-RPC request. */
async function request(
  options: A2aOptions,
  address: string,
  method: string,
  params: object,
  call: LanguageModelV4CallOptions,
): Promise<Result> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method, params });
  const response = await send(options, address, { method: 'POST', body, signal: call.abortSignal });
  const { result, error } = await jsonOf<{
    readonly result?: Result;
    readonly error?: { readonly message?: unknown };
  }>(response);
  if (result !== undefined) return result;
  throw fail('fatal', 'RemoteAgentError', `the remote agent reports: ${String(error?.message ?? 'no result')}`);
}

function send(
  { fetch, key, headers }: A2aOptions,
  url: string,
  init: { readonly method?: string; readonly body?: string; readonly signal: AbortSignal | undefined },
): Promise<Response> {
  const { signal, ...rest } = init;
  return fetch(url, {
    ...rest,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      accept: 'application/json',
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
}

/** The body as JSON. Errors have the fields that the classification of provider errors reads. */
async function jsonOf<T>(response: Response): Promise<T> {
  const responseBody = await response.text();
  const facts = { statusCode: response.status, responseBody, responseHeaders: Object.fromEntries(response.headers) };
  if (!response.ok) throw Object.assign(new Error(response.statusText), { name: 'AI_APICallError', ...facts });
  try {
    return JSON.parse(responseBody) as T;
  } catch {
    throw Object.assign(new Error('the body is not JSON'), { name: 'AI_JSONParseError', ...facts });
  }
}
