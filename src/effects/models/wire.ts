/**
 * What only the raw protocol tells. A provider's own closing statement outranks what was pieced together on the way, and a
 * stream that holds two messages holds none that can be trusted.
 */
import { isUnreadable } from './error-facts.ts';
import type { Protocol } from './providers.ts';
import { StreamError } from './reply.ts';
import type { ProposedCall, Reply } from './reply.ts';

export interface Wire {
  /** One event of a stream, or a whole body. */
  see(raw: unknown): void;
  /** An error of the stream: true where it may not matter, since the closing statement says everything again. */
  unreadable(error: unknown): boolean;
  /** Puts the reply right where the provider said it better. */
  settle(reply: Reply): void;
}

export function watchWire(protocol: Protocol): Wire {
  if (protocol === 'openai') return closingStatement();
  return protocol === 'anthropic'
    ? singleMessage()
    : { see: () => undefined, unreadable: () => false, settle: () => undefined };
}

interface Item {
  readonly type?: unknown;
  readonly content?: readonly { readonly type?: unknown; readonly text?: unknown }[];
  readonly call_id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

/** Calls that are no function calls are to tools that the provider has of its own, which are never offered to it. */
function closingStatement(): Wire {
  let output: readonly Item[] = [];
  let closed = false;
  let missed: unknown;
  return {
    see: (raw) => {
      const event = raw as { type?: unknown; response?: { output?: unknown }; output?: unknown } | null;
      const closes = event?.type === 'response.completed' || event?.type === 'response.incomplete';
      const stated = closes ? event.response?.output : event?.output;
      if (Array.isArray(stated) && stated.length > 0) output = stated as readonly Item[];
      closed ||= closes;
    },
    unreadable: (error) => {
      if (!isUnreadable(error)) return false;
      missed ??= error;
      return true;
    },
    settle: (reply) => {
      if (missed !== undefined && !(closed && output.length > 0)) throw new StreamError(missed);
      if (output.length === 0) return;
      const said = output.flatMap((item) => (item.type === 'message' ? (item.content ?? []) : []));
      const text = said
        .flatMap((part) => (part.type === 'output_text' && typeof part.text === 'string' ? [part.text] : []))
        .join('');
      if (text !== '') reply.text = text;
      reply.calls = output.flatMap((item) => (item.type === 'function_call' ? [stated(item, reply.calls)] : []));
    },
  };
}

function stated(item: Item, heard: readonly ProposedCall[]): ProposedCall {
  const id = textOf(item.call_id);
  return {
    id,
    name: textOf(item.name),
    input: textOf(item.arguments),
    metadata: heard.find((call) => call.id === id)?.metadata,
  };
}

function singleMessage(): Wire {
  let begun = false;
  return {
    see: (raw) => {
      if ((raw as { type?: unknown } | null)?.type !== 'message_start') return;
      if (begun)
        throw new StreamError({
          name: 'AI_InvalidResponseDataError',
          message: 'a second message began before the first had ended',
        });
      begun = true;
    },
    unreadable: () => false,
    settle: () => undefined,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
