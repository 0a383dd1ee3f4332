/** Complete bodies of replies in the three protocols. Fields of `more` replace the usual ones. */
export type Body = { readonly [field: string]: unknown };

/** Chat Completions. */
export function completion(message: Body, finish_reason = 'stop', more: Body = {}): Body {
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
    ...more,
  };
}

/** Responses. Without text there is no item. */
export function response(text: unknown, more: Body = {}): Body {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content };
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: text === '' ? [] : [item],
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  };
}

/** Messages. Without text there is no part. */
export function message(text: unknown, more: Body = {}): Body {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: text === '' ? [] : [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  };
}
