/** Turns a complete response body into the stream that the same provider would send. */
type Fields = { readonly [field: string]: unknown };

export function streamOf(provider: string, body: Fields): string {
  if (provider === 'openai') return responses(body);
  return provider === 'anthropic' ? messages(body) : completions(body);
}

function sse(events: readonly Fields[], named: boolean): string {
  const lines = events.map(
    (event) => `${named ? `event: ${String(event['type'])}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
  );
  return lines.join('');
}

function responses(body: Fields): string {
  const output = body['output'] as readonly Fields[];
  const items = output.flatMap((item, output_index): Fields[] => {
    const item_id = item['id'];
    const added = { type: 'response.output_item.added', output_index, item: opened(item) };
    const done = { type: 'response.output_item.done', output_index, item };
    if (item['type'] === 'message') {
      const text = (item['content'] as readonly { text: string }[])[0]?.text ?? '';
      const base = { type: 'response.output_text.delta', item_id, output_index, content_index: 0, logprobs: [] };
      return [added, ...[...text].map((delta) => ({ ...base, delta })), done];
    }
    if (item['type'] === 'reasoning') {
      const summaries = (item['summary'] as readonly { text: string }[]).flatMap(({ text }, summary_index) => [
        { type: 'response.reasoning_summary_part.added', item_id, summary_index },
        { type: 'response.reasoning_summary_text.delta', item_id, summary_index, delta: text },
        { type: 'response.reasoning_summary_part.done', item_id, summary_index },
      ]);
      return [added, ...summaries, done];
    }
    const delta = item['arguments'];
    return [added, { type: 'response.function_call_arguments.delta', item_id, output_index, delta }, done];
  });
  const created = { type: 'response.created', response: { ...body, output: [], usage: null } };
  return sse([created, ...items, { type: 'response.completed', response: body }], false);
}

function opened(item: Fields): Fields {
  if (item['type'] === 'message') return { ...item, content: [] };
  return item['type'] === 'reasoning' ? { ...item, summary: [] } : { ...item, arguments: '' };
}

function messages(body: Fields): string {
  const content = body['content'] as readonly Fields[];
  const blocks = content.flatMap((block, index) => {
    const start = (content_block: Fields): Fields => ({ type: 'content_block_start', index, content_block });
    const delta = (change: Fields): Fields => ({ type: 'content_block_delta', index, delta: change });
    const stop = { type: 'content_block_stop', index };
    switch (block['type']) {
      case 'text':
        return [start({ ...block, text: '' }), delta({ type: 'text_delta', text: block['text'] }), stop];
      case 'thinking':
        return [
          start({ ...block, thinking: '', signature: '' }),
          delta({ type: 'thinking_delta', thinking: block['thinking'] }),
          delta({ type: 'signature_delta', signature: block['signature'] }),
          stop,
        ];
      case 'tool_use':
        return [
          start({ ...block, input: {} }),
          delta({ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }),
          stop,
        ];
      default:
        return [start(block), stop];
    }
  });
  const usage = body['usage'] as Fields;
  return sse(
    [
      { type: 'message_start', message: { ...body, content: [], stop_reason: null } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason: body['stop_reason'], stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
    true,
  );
}

function completions(body: Fields): string {
  const [choice] = body['choices'] as readonly { message: Fields; finish_reason: string }[];
  const { id, created, model } = body;
  const chunk = (delta: Fields, finish_reason: string | null = null): Fields => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const { content, reasoning_content, tool_calls = [] } = choice?.message ?? {};
  const calls = (tool_calls as readonly Fields[]).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }));
  const chunks = [
    ...(reasoning_content === undefined ? [] : [chunk({ reasoning_content })]),
    ...(content === null || content === undefined ? [] : [chunk({ content })]),
    ...calls,
    chunk({}, choice?.finish_reason),
    { id, object: 'chat.completion.chunk', created, model, choices: [], usage: body['usage'] },
  ];
  return `${sse(chunks, false)}data: [DONE]\n\n`;
}
