/**
 * Some servers deviate from their protocol: arguments as an object, a call without an id, no usage, parts of an unknown
 * type, events of their own. The AI SDK refuses such a response as a whole, so it is rewritten first. A response that needs no
 * change passes as it is.
 */
import type { Protocol } from '@sluice-internal/kernel/catalog';
import { isRecord, parsedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Bytes } from '@sluice-internal/platform';

/** Rewrites the body or the stream of a response. Null if the responses of the protocol are not known here. */
export function lenient(protocol: Protocol, isStream: boolean): TransformStream<Bytes, Bytes> | null {
  const rules = RULES[protocol]?.();
  if (rules === undefined) return null;
  return isStream ? rewrittenEvents(rules, protocol !== 'anthropic') : rewrittenBody(rules);
}

function rewrittenBody({ body }: Rules): TransformStream<Bytes, Bytes> {
  const chunks: Bytes[] = [];
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush: (controller) => {
      const whole = Buffer.concat(chunks);
      const parsed = parsedJson(whole.toString('utf8'));
      const changed = isRecord(parsed) && body(parsed);
      controller.enqueue(changed ? encoded(JSON.stringify(parsed)) : new Uint8Array(whole));
    },
  });
}

/** Rewrites the events of a stream line by line. An event without data is not dispatched, so a dropped event loses its data. */
function rewrittenEvents(rules: Rules, hasMark: boolean): TransformStream<Bytes, Bytes> {
  const decoder = new TextDecoder();
  // Pieces of the line that has not ended yet. A long line comes in thousands of chunks, so they are joined once.
  let rest: string[] = [];
  const missing = (): string => {
    const event = rules.missing();
    return event === null ? '' : `data: ${JSON.stringify(event)}\n\n`;
  };
  const rewritten = (line: string): string =>
    hasMark && END_MARK.test(line) ? `${missing()}${line}` : rewrittenLine(line, rules);
  return new TransformStream({
    transform: (chunk, controller) => {
      const text = decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf('\n');
      rest.push(text.slice(0, end === -1 ? text.length : end));
      if (end === -1) return;
      const lines = rest.join('').split('\n');
      rest = [text.slice(end + 1)];
      controller.enqueue(encoded(lines.map((line) => `${rewritten(line)}\n`).join('')));
    },
    flush: (controller) => {
      const line = rest.join('') + decoder.decode();
      const last = `${line === '' ? '' : rewritten(line)}${hasMark ? '' : `\n\n${missing()}`}`;
      if (last !== '') controller.enqueue(encoded(last));
    },
  });
}

/** The end of a stream of Chat Completions. */
const END_MARK = /^data:\s*\[DONE\]/;

function rewrittenLine(line: string, { isPlain, event }: Rules): string {
  if (!line.startsWith('data:') || isPlain(line)) return line;
  const parsed = parsedJson(line.slice('data:'.length));
  if (!isRecord(parsed)) return line;
  const change = event(parsed);
  if (change === 'none') return line;
  return change === 'dropped' ? ':' : `data: ${JSON.stringify(parsed)}${line.endsWith('\r') ? '\r' : ''}`;
}

function encoded(text: string): Bytes {
  return new TextEncoder().encode(text);
}

type Fields = { [name: string]: Json };
type Change = 'none' | 'changed' | 'dropped';

interface Rules {
  /** Corrects a whole response in place. True if something changed. */
  body(body: Fields): boolean;
  /** Corrects an event in place. */
  event(event: Fields): Change;
  /** True for a line of a stream that certainly needs no correction. */
  isPlain(line: string): boolean;
  /** The missing last event of a stream with a complete reply; null if none is missing. */
  missing(): Fields | null;
}

/** New rules for each response, because events of a stream refer to each other. */
const RULES: { readonly [protocol in Protocol]?: () => Rules } = {
  compatible: chat,
  'openai-chat': chat,
  openai: responses,
  anthropic: messages,
};

function chat(): Rules {
  let isFinished = false;
  const choicesOf = (value: Fields): Fields[] => listIn(value['choices']);
  const writeArguments = (from: unknown): boolean =>
    some(
      listIn(fieldsIn(from)['tool_calls']),
      (call) => isRecord(call['function']) && textField(call['function'], 'arguments'),
    );
  return {
    body: (body) => some(choicesOf(body), ({ message }) => writeArguments(message)),
    event: (event) => {
      if (!Array.isArray(event['choices'])) return event['error'] === undefined ? 'dropped' : 'none';
      // The AI SDK would join the texts of several choices.
      const kept = keep(event, 'choices', ({ index }) => !(Number(index) > 0));
      return changeIf(some(choicesOf(event), ({ delta }) => writeArguments(delta)) || kept);
    },
    isPlain: (line) => {
      isFinished ||= /"finish_reason":\s?"/.test(line);
      return line.includes('"choices"') && !line.includes('"tool_calls"') && !/"index":\s?[1-9]/.test(line);
    },
    // Asked for only if the server marks the end of the stream itself.
    missing: () => (isFinished ? null : { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  };
}

/** Items of Responses that the AI SDK supports. Others cannot be sent back, so they are left out. */
const KNOWN_ITEM =
  /^(message|reasoning|compaction|program|program_output|mcp_\w+|\w+_call|\w+_call_output|tool_search_output)$/;
const KNOWN_CONTENT = /^(output_text|refusal)$/;

function responses(): Rules {
  const correctItem = (item: Fields): boolean => {
    if (item['type'] === 'message') return keep(item, 'content', ({ type }) => KNOWN_CONTENT.test(String(type)));
    if (item['type'] !== 'function_call') return false;
    const isNamed = typeof item['call_id'] === 'string';
    if (!isNamed) item['call_id'] = typeof item['id'] === 'string' ? item['id'] : '';
    return textField(item, 'arguments') || !isNamed;
  };
  const correctOutput = (response: Fields): boolean => {
    const kept = keep(response, 'output', ({ type }) => KNOWN_ITEM.test(String(type)));
    return some(listIn(response['output']), correctItem) || kept;
  };
  return {
    body: correctOutput,
    event: (event) => {
      const numbered = NUMBERED.test(String(event['type'])) && defaultTo(event, 'sequence_number', 0);
      const item = isRecord(event['item']) && correctItem(event['item']);
      const response = isRecord(event['response']) && correctOutput(event['response']);
      return changeIf(numbered || item || response);
    },
    isPlain: (line) => /"type":\s?"response\.[a-z_.]+\.delta"/.test(line),
    missing: () => null,
  };
}

/** Events that the AI SDK reads only with a number. */
const NUMBERED = /^(response\.failed|error)$/;

const KNOWN_BLOCK = /^(text|thinking|redacted_thinking|compaction|fallback|container_upload)$|tool_use$|tool_result$/;
const KNOWN_EVENT = /^(message_(start|delta|stop)|content_block_(start|delta|stop)|error|ping)$/;
/** A negative number counts as unknown, so the tokens are estimated. */
const UNKNOWN = -1;

function messages(): Rules {
  const dropped = new Set<unknown>();
  let isComplete = false;
  const correctUsage = (of: Fields, names: readonly string[]): boolean => {
    const had = isRecord(of['usage']);
    const usage = fieldsIn(of['usage']);
    of['usage'] = usage;
    return some(names, (name) => defaultTo(usage, name, UNKNOWN)) || !had;
  };
  return {
    body: (body) => {
      if (body['type'] === 'error' || isRecord(body['error'])) return false;
      const had = Array.isArray(body['content']);
      if (!had) body['content'] = [];
      const kept = keep(body, 'content', ({ type }) => KNOWN_BLOCK.test(String(type)));
      const corrected = some(listIn(body['content']), correctBlock);
      return correctUsage(body, ['input_tokens', 'output_tokens']) || corrected || kept || !had;
    },
    event: (event) => {
      const type = String(event['type']);
      if (!KNOWN_EVENT.test(type) || isDropped(event, dropped)) return 'dropped';
      if (type === 'message_start') return changeIf(correctUsage(fieldsIn(event['message']), ['input_tokens']));
      isComplete = typeof fieldsIn(event['delta'])['stop_reason'] === 'string' && type === 'message_delta';
      if (type === 'message_delta') return changeIf(correctUsage(event, ['output_tokens']));
      return changeIf(type === 'content_block_start' && correctBlock(fieldsIn(event['content_block']), event['index']));
    },
    isPlain: (line) => dropped.size === 0 && /"type":\s?"content_block_(delta|stop)"/.test(line),
    missing: () => (isComplete ? { type: 'message_stop' } : null),
  };
}

/** Drops a block of an unknown type with all its events. */
function isDropped(event: Fields, dropped: Set<unknown>): boolean {
  const { type, index, content_block: block } = event;
  if (type === 'content_block_start' && !KNOWN_BLOCK.test(String(fieldsIn(block)['type']))) dropped.add(index);
  return String(type).startsWith('content_block_') && dropped.has(index);
}

function correctBlock(block: Fields, index: unknown): boolean {
  if (block['type'] !== 'tool_use') return false;
  const named = defaultTo(block, 'id', `call_${String(index)}`);
  const written = parsedJson(block['input'] ?? null);
  if (isRecord(written)) block['input'] = written;
  return named || isRecord(written);
}

/** Writes a field as text. Without a value it is empty. */
function textField(of: Fields, name: string): boolean {
  const value = of[name];
  if (typeof value === 'string') return false;
  of[name] = value === undefined || value === null ? '' : JSON.stringify(value);
  return true;
}

function defaultTo(of: Fields, name: string, value: Json): boolean {
  if (of[name] !== undefined && of[name] !== null) return false;
  of[name] = value;
  return true;
}

/** Keeps the entries of a list that pass. */
function keep(of: Fields, name: string, passes: (entry: Fields) => boolean): boolean {
  const list = of[name];
  if (!Array.isArray(list)) return false;
  const kept = list.filter((entry) => isRecord(entry) && passes(entry));
  of[name] = kept;
  return kept.length < list.length;
}

/** Corrects every entry. True if one of them changed. */
function some<Entry>(entries: readonly Entry[], correct: (entry: Entry, index: number) => boolean): boolean {
  return entries.map(correct).includes(true);
}

function changeIf(changed: boolean): Change {
  return changed ? 'changed' : 'none';
}

function listIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function fieldsIn(value: unknown): Fields {
  return isRecord(value) ? value : {};
}
