/** Recorded answers of providers, and what they say: as others read them, or read here straight from the body. */
import { existsSync, readFileSync } from 'node:fs';
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';

export interface Said {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly usage: { readonly in: number; readonly out: number } | null;
}
export interface Recorded {
  readonly id: string;
  readonly provider: 'openai' | 'anthropic' | 'openai-compatible';
  readonly stream: boolean;
  readonly status: number;
  readonly body: string;
  /** Null where it is no reply that a model could be understood by: an error, a refusal, another kind of document. */
  readonly said: Said | null;
  /** The finish reason in the words of the provider. */
  readonly stop: string;
}

const FILE = new URL('provider-wire/chunks.jsonl', EVAL_DATA);

export function recordings(): Recorded[] | null {
  if (!existsSync(FILE)) return null;
  const lines = readFileSync(FILE, 'utf8').trim().split('\n');
  return lines.map((line) => recorded(JSON.parse(line) as Row));
}

interface Row {
  readonly id: string;
  readonly api?: string;
  readonly sse?: string;
  readonly json?: string;
  readonly expected?: {
    readonly sdk_error?: string;
    readonly text: string;
    readonly tool_calls: readonly { id: string; name: string; args: unknown }[];
    readonly stop: string;
    readonly usage: Said['usage'];
  } | null;
}

function recorded({ id, api = 'other', sse, json = '', expected }: Row): Recorded {
  if (sse === undefined) return fromBody(id, json);
  const provider =
    api === 'anthropic.messages'
      ? 'anthropic'
      : api === 'openai.responses' || /"type":"(response|session)\./.test(sse)
        ? 'openai'
        : 'openai-compatible';
  const hasResult =
    expected !== null && expected !== undefined && expected.sdk_error === undefined && expected.stop !== 'refusal';
  return {
    id,
    provider,
    stream: true,
    status: 200,
    body: sse,
    said: hasResult ? reference(expected, sse) : null,
    stop: expected?.stop ?? '',
  };
}

function reference({ text, tool_calls, usage }: NonNullable<Row['expected']>, sse: string): Said {
  const calls = tool_calls.map(({ id, name, args }) => ({
    id,
    name,
    args: typeof args === 'string' ? (JSON.parse(args) as unknown) : args,
  }));
  // The reference printed parts that it did not know as objects; and it leaves out the rounds that a provider bills.
  return {
    text: text.includes('[object Object]') ? TEXT_OF_PARTS(sse) : text,
    calls,
    usage: sse.includes('"iterations":[{') ? null : withReasoning(usage, sse),
  };
}

/** The reference leaves out reasoning that a server counts in the total only. */
function withReasoning(usage: Said['usage'], body: string): Said['usage'] {
  const last = (field: string): number =>
    Number([...body.matchAll(new RegExp(`"${field}": ?(\\d+)`, 'g'))].at(-1)?.[1]);
  const beside = last('total_tokens') - last('prompt_tokens');
  return usage === null || !(beside > usage.out) ? usage : { ...usage, out: beside };
}

function TEXT_OF_PARTS(sse: string): string {
  return [...sse.matchAll(/"content":\[\{"type":"text","text":("[^"]*")/g)]
    .map(([, text]) => JSON.parse(text as string) as string)
    .join('');
}

interface Body {
  readonly error?: unknown;
  readonly type?: string;
  readonly object?: string;
  readonly stop_reason?: string;
  readonly content?: readonly { type: string; text?: string; id?: string; name?: string; input?: unknown }[];
  readonly output?: readonly {
    type: string;
    content?: readonly { type: string; text?: string }[];
    call_id?: string;
    name?: string;
    arguments?: string;
  }[];
  readonly incomplete_details?: { readonly reason?: string } | null;
  readonly choices?: readonly {
    readonly finish_reason?: string;
    message?: {
      content?: unknown;
      tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
    };
  }[];
  readonly usage?: { [field: string]: unknown };
}

function fromBody(id: string, text: string): Recorded {
  const body = JSON.parse(text) as Body;
  const base = {
    id,
    stream: false,
    status: body.error === undefined || body.error === null ? 200 : 400,
    body: text,
    stop: stopOf(body),
  };
  if (body.type === 'message')
    return { ...base, provider: 'anthropic', said: body.stop_reason === 'refusal' ? null : ofAnthropic(body) };
  if (body.object === 'response') return { ...base, provider: 'openai', said: ofOpenAi(body) };
  return { ...base, provider: 'openai-compatible', said: body.object === 'chat.completion' ? ofChat(body) : null };
}

function stopOf({ stop_reason, choices, incomplete_details }: Body): string {
  return stop_reason ?? choices?.[0]?.finish_reason ?? incomplete_details?.reason ?? '';
}

function ofAnthropic({ content = [], usage = {} }: Body): Said {
  const calls = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id = '', name = '', input }) => ({ id, name, args: input }));
  const iterated = Array.isArray(usage['iterations']);
  return {
    text: joined(content, 'text'),
    calls,
    usage: iterated ? null : { in: usage['input_tokens'] as number, out: usage['output_tokens'] as number },
  };
}

function ofOpenAi({ output = [], usage = {} }: Body): Said {
  const parts = output.filter(({ type }) => type === 'message').flatMap(({ content = [] }) => content);
  const calls = output
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id = '', name = '', arguments: args = '' }) => ({
      id: call_id,
      name,
      args: JSON.parse(args) as unknown,
    }));
  return {
    text: joined(parts, 'output_text'),
    calls,
    usage: { in: usage['input_tokens'] as number, out: usage['output_tokens'] as number },
  };
}

function ofChat({ choices = [], usage = {} }: Body): Said {
  const { content, tool_calls = [] } = choices[0]?.message ?? {};
  const text = Array.isArray(content) ? joined(content as { type: string }[], 'text') : ((content ?? '') as string);
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    id,
    name,
    args: JSON.parse(args) as unknown,
  }));
  const said = { in: usage['prompt_tokens'] as number, out: usage['completion_tokens'] as number };
  return { text, calls, usage: withReasoning(said, JSON.stringify(usage)) };
}

function joined(parts: readonly { readonly type: string; readonly text?: string }[], type: string): string {
  return parts
    .filter((part) => part.type === type)
    .map(({ text = '' }) => text)
    .join('');
}
