/** The streams of a server: the events of one run, and the changes of everything that a caller may see. */
import type { Run, RunEvent } from '@sluice-internal/library';
import { present } from '@sluice-internal/kernel/expr';
import { Refusal } from './problem.ts';
import { sseResponse, type SentEvent } from './sse.ts';
import type { Services } from './services.ts';
import type { Who } from '../auth/who.ts';

/**
 * A stream for a caller, counted from here to its end. Whatever goes wrong before the first event, the count and the watch over the caller
 * end with it.
 */
export async function streamFor(
  services: Services,
  who: Who,
  signal: AbortSignal,
  open: (signal: AbortSignal) => Promise<AsyncIterator<SentEvent>> | AsyncIterator<SentEvent>,
): Promise<Response> {
  const end = services.streams.open(who.key);
  if (end === null)
    throw new Refusal('too-many-streams', 'too many streams are open', {
      help: 'Close one, or read several topics from `/v1/stream`.',
      headers: { 'retry-after': '5' },
    });
  const stop = stopOf(services, who, signal);
  const onEnd = (): void => {
    stop.dispose();
    end();
  };
  try {
    return sseResponse(await open(stop.signal), { signal: stop.signal, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

interface RunStream {
  readonly who: Who;
  readonly handle: Run;
  readonly signal: AbortSignal;
  readonly after: string | undefined;
  readonly text: boolean;
  readonly isWanted: (event: RunEvent) => boolean;
  readonly shown: (event: RunEvent) => RunEvent;
}

export function runStream(services: Services, given: RunStream): Promise<Response> {
  const { who, handle, signal, after } = given;
  return streamFor(services, who, signal, (stop) =>
    eventsOf(handle.events({ ...present({ after }), signal: stop }), given),
  );
}

/** Text has no id: a reader that comes back goes on at a stored event, and reads the text of an open call with `GET calls/{key}`. */
async function* eventsOf(
  events: AsyncIterable<RunEvent>,
  { handle, text, isWanted, shown }: RunStream,
): AsyncGenerator<SentEvent, void> {
  for await (const event of events) {
    if (event.type === 'model.text') {
      const { call, from, text: piece } = event;
      if (text) yield { event: 'text', data: { run: handle.id, call, from, text: piece } };
    } else if (event.type === 'model.reasoning' || event.type === 'model.arguments') continue;
    else if (isWanted(event)) yield { id: event.id, event: 'run.event', data: shown(event) };
  }
  yield { event: 'done', data: '' };
}

/** A caller is looked at again in this time: a stream ends with its token. */
const CHECK_MS = 2000;

/** Aborted when the reader leaves, the server stops, or the caller's token has expired or was revoked. */
function stopOf(
  { stopping, callers }: Services,
  who: Who,
  signal: AbortSignal,
): { readonly signal: AbortSignal; dispose(): void } {
  const over = new AbortController();
  const check = async (): Promise<void> => {
    if (!(await callers.holds(who))) over.abort();
  };
  const timer = setInterval(() => void check().catch(() => undefined), CHECK_MS);
  return { signal: AbortSignal.any([signal, stopping, over.signal]), dispose: () => clearInterval(timer) };
}
