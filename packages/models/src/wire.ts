/**
 * Reads facts from the raw protocol that the AI SDK does not report. A Responses stream ends with the complete output, which
 * replaces the parts assembled from the stream. A Messages stream must hold one message only.
 */
import { fail } from '@sluice-internal/engine/ports';
import type { Protocol } from '@sluice-internal/kernel/catalog';
import { isUnreadable } from './errors.ts';
import { StreamError, fieldOf, type Reply, type ReplyPart } from './reply.ts';

export interface Wire {
  /** Takes one event of a stream, or a whole body. */
  see(raw: unknown): void;
  /** Takes an error of the stream. Returns true if the final output can replace what could not be read. */
  unreadable(error: unknown): boolean;
  /** Corrects the reply by the provider's final output. */
  correct(reply: Reply): void;
}

export function watchWire(protocol: Protocol): Wire {
  if (protocol === 'openai') return finalOutput();
  return protocol === 'anthropic'
    ? singleMessage()
    : { see: () => undefined, unreadable: () => false, correct: () => undefined };
}

interface Body {
  readonly output?: unknown;
  readonly status?: unknown;
}
interface Item {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly phase?: unknown;
  readonly content?: readonly { readonly type?: unknown; readonly text?: unknown; readonly refusal?: unknown }[];
  readonly call_id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

/** States in which a response has no reply yet, or will never have one. A limit or a filter has a finish reason of its own. */
const UNFINISHED: ReadonlySet<string> = new Set(['cancelled', 'queued', 'in_progress']);

function isUnfinished(status: string, { finish }: Reply): boolean {
  if (status !== 'incomplete') return UNFINISHED.has(status);
  return finish?.unified !== 'length' && finish?.unified !== 'content-filter';
}

function unfinished(status: string): Error {
  const message = `the response has the status \`${status}\` and holds no finished reply`;
  return fail('transient', 'UnfinishedReplyError', message);
}

function finalOutput(): Wire {
  let output: readonly Item[] = [];
  let ended = false;
  let missed: unknown;
  let status = '';
  return {
    see: (raw) => {
      const event = raw as { type?: unknown; response?: Body; output?: unknown; status?: unknown } | null;
      const ends = event?.type === 'response.completed' || event?.type === 'response.incomplete';
      const items = ends ? event.response?.output : event?.output;
      if (Array.isArray(items) && items.length > 0) output = items as readonly Item[];
      ended ||= ends;
      status = textIn(event?.response?.status ?? event?.status);
    },
    unreadable: (error) => {
      if (!isUnreadable(error)) return false;
      missed ??= error;
      return true;
    },
    correct: (reply) => {
      if (missed !== undefined && !(ended && output.length > 0)) throw new StreamError(missed);
      if (isUnfinished(status, reply)) throw unfinished(status);
      if (output.length === 0) return;
      const known = reply.parts;
      const hasText = output.some(({ type }) => type === 'message');
      reply.parts = output.flatMap((item) => partsOf(item, known));
      if (!hasText) reply.parts.unshift(...known.filter(({ type }) => type === 'text'));
    },
  };
}

/** The parts of one output item. Items other than messages and function calls keep the parts read from the stream. */
function partsOf(item: Item, known: readonly ReplyPart[]): ReplyPart[] {
  const id = textIn(item.id);
  const same = known.filter(({ metadata }) => id !== '' && fieldOf(metadata, 'itemId') === id);
  if (item.type === 'function_call') {
    const callId = textIn(item.call_id);
    const metadata = known.find((part) => part.type === 'call' && part.id === callId)?.metadata;
    return [{ type: 'call', id: callId, name: textIn(item.name), input: textIn(item.arguments), metadata }];
  }
  if (item.type !== 'message') return same.filter(({ type }) => type === 'reasoning' || type === 'custom');
  const texts = (item.content ?? []).flatMap((part) =>
    part.type === 'output_text' ? [textIn(part.text)] : part.type === 'refusal' ? [textIn(part.refusal)] : [],
  );
  const phase = textIn(item.phase);
  const own = id === '' ? undefined : { openai: { itemId: id, ...(phase === '' ? {} : { phase }) } };
  return texts.map((text, index) => ({
    type: 'text',
    text,
    metadata: same[index]?.metadata ?? same[0]?.metadata ?? own,
  }));
}

function singleMessage(): Wire {
  let started = false;
  return {
    see: (raw) => {
      if ((raw as { type?: unknown } | null)?.type !== 'message_start') return;
      if (started)
        throw new StreamError({
          name: 'AI_InvalidResponseDataError',
          message: 'a second message started before the first one ended',
        });
      started = true;
    },
    unreadable: () => false,
    correct: () => undefined,
  };
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
