/** Reads server-sent events from `fetch`. `EventSource` cannot send a token. */
import { SluiceError } from './errors.ts';
import { pause, type Http } from './http.ts';

export interface Received {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

interface Source {
  readonly path: string;
  /** Asked again for each connection. */
  readonly query?: () => { readonly [name: string]: unknown };
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the connection is open, and when it is lost. */
  readonly onConnection?: ((isOpen: boolean) => void) | undefined;
}

const RETRY_MS = 1000;
const RETRY_MAX_MS = 15_000;

/**
 * The events of a stream, from one connection to the next: a lost connection is made again at the last id. It ends with `done`. A
 * refusal of the server ends it with an error, except one that passes by itself.
 */
export async function* received(
  http: Http,
  { path, query = () => ({}), after, signal, onConnection }: Source,
): AsyncGenerator<Received, void> {
  const place: Place = { last: after, wait: RETRY_MS };
  let failures = 0;
  for (;;) {
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(place.last === undefined ? {} : { 'last-event-id': place.last }),
      };
      const response = await http.send(path, { query: query(), headers, signal });
      onConnection?.(true);
      for await (const message of messagesIn(response)) {
        failures = 0;
        moved(place, message);
        if (message.data === undefined) continue;
        if (message.event === 'done') return;
        yield { id: message.id, event: message.event, data: message.data };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof SluiceError && error.status !== 0 && !PASSING.has(error.status)) throw error;
    }
    signal?.throwIfAborted();
    onConnection?.(false);
    await pause(Math.min(RETRY_MAX_MS, place.wait * 2 ** Math.min(failures++, 4)), signal);
  }
}

/** Where a reader goes on, and after how long. */
interface Place {
  last: string | undefined;
  wait: number;
}

function moved(place: Place, { id, retry }: Message): void {
  place.last = id ?? place.last;
  place.wait = retry ?? place.wait;
}

const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

interface Message {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
  readonly retry: number | undefined;
}

/** Fields end with a line, messages with an empty one. Lines end with LF, CRLF or CR. */
async function* messagesIn({ body }: Response): AsyncGenerator<Message, void> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r\n\r\n|\n\n|\r\r/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) yield messageIn(block);
    }
  } finally {
    // The connection is closed at once, also if the reader stops in the middle.
    await reader.cancel().catch(() => undefined);
  }
}

function messageIn(block: string): Message {
  const fields: { [name: string]: string | undefined } = {};
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    fields[name] = name === 'data' && fields['data'] !== undefined ? `${fields['data']}\n${value}` : value;
  }
  const { id, event = 'message', data, retry } = fields;
  return {
    ...{ id, event, data: data === undefined ? undefined : data === '' ? null : JSON.parse(data) },
    retry: retry === undefined ? undefined : Number(retry),
  };
}
