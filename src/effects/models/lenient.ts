/**
 * Servers deviate from the protocol that they speak: arguments as an object, a call without an id, no usage, parts of an unknown
 * type, events of their own. The AI SDK refuses such a response as a whole, so it is rewritten first. A response that needs no
 * change passes as it is.
 */
import type { Protocol } from '../../catalog/providers.ts';
import { parsedJson } from '../../core/reply.ts';
import { isRecord } from '../../expr/json.ts';
import { RULES, type Rules } from './lenient-rules.ts';

type Bytes = Uint8Array<ArrayBuffer>;

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
