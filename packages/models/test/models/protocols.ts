/** The three providers' protocols, small: a reply as a body and as a stream, an error as a body, and where things are in a request. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Asked } from './serve.ts';

interface Reply {
  readonly text: string;
  readonly call?: { readonly id: string; readonly name: string; readonly args: string };
  /** The stop reason, as the provider writes it. By default its usual one. */
  readonly stop?: string;
}
export interface ProtocolMock {
  readonly provider: 'openai' | 'anthropic' | 'google';
  readonly path: RegExp;
  readonly keyIn: (headers: Asked['headers']) => string | undefined;
  readonly toolNames: (body: Asked['body']) => readonly string[];
  body(reply: Reply): string;
  stream(reply: Reply): string;
  error(type: string, message: string): string;
  /** What a reply says that was withheld. */
  readonly refused: Reply;
}

const events = (list: readonly object[], named = false): string =>
  list
    .map((event) => `${named ? `event: ${(event as { type: string }).type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

function response({ text, call, stop }: Reply): { [field: string]: Json } {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
  const output: Json[] = text === '' ? [] : [message];
  if (call !== undefined)
    output.push({
      id: 'fc_1',
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: call.args,
      status: 'completed',
    });
  const incomplete: { [field: string]: Json } = stop === undefined ? {} : { incomplete_details: { reason: stop } };
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: stop === undefined ? 'completed' : 'incomplete',
    output,
    usage: { input_tokens: 12, output_tokens: 5 },
    ...incomplete,
  };
}

const openai: ProtocolMock = {
  provider: 'openai',
  path: /^\/v1\/responses$/,
  keyIn: ({ authorization }) => authorization?.replace('Bearer ', ''),
  toolNames: ({ tools }) => ((tools ?? []) as { name: string }[]).map(({ name }) => name),
  body: (reply) => JSON.stringify(response(reply)),
  stream: (reply) => {
    const whole = response(reply);
    const items = whole['output'] as { id: string; type: string; arguments?: string }[];
    const each = items.flatMap((item, output_index) => [
      {
        type: 'response.output_item.added',
        output_index,
        item: item.type === 'message' ? { ...item, content: [] } : { ...item, arguments: '' },
      },
      ...(item.type === 'message'
        ? [...reply.text].map((delta) => ({
            type: 'response.output_text.delta',
            item_id: item.id,
            output_index,
            content_index: 0,
            delta,
            logprobs: [],
          }))
        : [{ type: 'response.function_call_arguments.delta', item_id: item.id, output_index, delta: item.arguments }]),
      { type: 'response.output_item.done', output_index, item },
    ]);
    const created = { type: 'response.created', response: { ...whole, output: [], usage: null } };
    return events([
      created,
      ...each,
      { type: reply.stop === undefined ? 'response.completed' : 'response.incomplete', response: whole },
    ]);
  },
  error: (type, message) => JSON.stringify({ error: { message, type, param: null, code: type } }),
  refused: { text: 'I cannot', stop: 'content_filter' },
};

const anthropic: ProtocolMock = {
  provider: 'anthropic',
  path: /^\/v1\/messages$/,
  keyIn: (headers) => headers['x-api-key'] as string | undefined,
  toolNames: ({ tools }) => ((tools ?? []) as { name: string }[]).map(({ name }) => name),
  body: ({ text, call, stop }) =>
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...(call === undefined
          ? []
          : [{ type: 'tool_use', id: call.id, name: call.name, input: JSON.parse(call.args) as Json }]),
      ],
      stop_reason: stop ?? 'end_turn',
      usage: { input_tokens: 12, output_tokens: 5 },
    }),
  stream: ({ text, call, stop }) => {
    const blocks: object[] = [];
    const block = (content_block: object, deltas: readonly object[]): void => {
      const index = blocks.filter((each) => 'content_block' in each).length;
      blocks.push(
        { type: 'content_block_start', index, content_block },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      );
    };
    if (text !== '')
      block(
        { type: 'text', text: '' },
        [...text].map((each) => ({ type: 'text_delta', text: each })),
      );
    if (call !== undefined)
      block({ type: 'tool_use', id: call.id, name: call.name, input: {} }, [
        { type: 'input_json_delta', partial_json: call.args },
      ]);
    const start = {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 12, output_tokens: 1 },
      },
    };
    return events(
      [
        start,
        ...blocks,
        { type: 'message_delta', delta: { stop_reason: stop ?? 'end_turn' }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ],
      true,
    );
  },
  error: (type, message) => JSON.stringify({ type: 'error', error: { type, message } }),
  refused: { text: '', stop: 'refusal' },
};

function candidate({ text, call, stop }: Reply, finishes = true): { [field: string]: Json } {
  const parts: Json[] = text === '' ? [] : [{ text }];
  if (call !== undefined)
    parts.push({ functionCall: { name: call.name, args: JSON.parse(call.args) as Json }, thoughtSignature: 'c2ln' });
  return {
    candidates: [{ content: { role: 'model', parts }, ...(finishes ? { finishReason: stop ?? 'STOP' } : {}) }],
    ...(finishes ? { usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 5, totalTokenCount: 17 } } : {}),
  };
}

const google: ProtocolMock = {
  provider: 'google',
  path: /^\/v1beta\/models\/m:(streamG|g)enerateContent/,
  keyIn: (headers) => headers['x-goog-api-key'] as string | undefined,
  toolNames: ({ tools }) =>
    ((tools ?? []) as { functionDeclarations?: { name: string }[] }[]).flatMap(({ functionDeclarations = [] }) =>
      functionDeclarations.map(({ name }) => name),
    ),
  body: (reply) => JSON.stringify(candidate(reply)),
  stream: (reply) =>
    events([...[...reply.text].map((text) => candidate({ text }, false)), candidate({ ...reply, text: '' })]),
  error: (status, message) => JSON.stringify({ error: { code: 400, message, status } }),
  refused: { text: '', stop: 'SAFETY' },
};

export const PROTOCOLS: readonly ProtocolMock[] = [openai, anthropic, google];
