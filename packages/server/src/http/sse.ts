/**
 * Server-sent events. A stream writes as fast as its reader reads: what waits to be written has a bound, and a reader that is too slow gets
 * a `gap` with the place from which it can read again.
 */
export interface SentEvent {
  /** Without an id a reader that comes back does not skip it. */
  readonly id?: string;
  /** Without an event only the place of the reader changes. */
  readonly event?: string;
  readonly data?: unknown;
}

export interface SseOptions {
  readonly signal: AbortSignal;
  readonly heartbeatMs?: number;
  /** Called once, however the stream ends. */
  readonly onEnd: () => void;
}

const RETRY_MS = 1000;
const HEARTBEAT_MS = 15_000;

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

/** The source is read only while the reader takes more, so that nothing grows for a reader that stopped. */
export function sseResponse(
  source: AsyncIterator<SentEvent>,
  { signal, heartbeatMs = HEARTBEAT_MS, onEnd }: SseOptions,
): Response {
  const encoder = new TextEncoder();
  let beat: NodeJS.Timeout | undefined;
  let isOver = false;
  let wantsMore = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(beat);
    signal.removeEventListener('abort', end);
    void source.return?.();
    onEnd();
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
      beat = setInterval(() => {
        if (!isOver && wantsMore) controller.enqueue(encoder.encode(': \n\n'));
      }, heartbeatMs);
      signal.addEventListener('abort', () => {
        if (isOver) return;
        end();
        controller.close();
      });
      if (signal.aborted) {
        end();
        controller.close();
      }
    },
    async pull(controller) {
      wantsMore = true;
      try {
        const next = await source.next();
        if (isOver) return;
        wantsMore = false;
        if (next.done !== true) return controller.enqueue(encoder.encode(frame(next.value)));
        end();
        controller.close();
      } catch (error) {
        if (isOver) return;
        end();
        controller.error(error);
      }
    },
    cancel: end,
  });
  return new Response(stream, { headers: SSE_HEADERS });
}

function frame({ id, event, data }: SentEvent): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return event === undefined ? `${head}\n` : `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
