/** The streams of a server: the events of one run, and the changes of everything that a caller may see. */
import type { Run, RunEvent } from '@sluice-internal/library';
import { present } from '@sluice-internal/kernel/expr';
import { Refusal } from './problem.ts';
import { sseResponse, type SentEvent } from './sse.ts';
import type { Services } from './services.ts';
import type { Who } from '../auth/who.ts';

/** Ends the count of the stream when called. */
export function demandStream({ streams }: Services, who: Who): () => void {
  const end = streams.open(who.key);
  if (end !== null) return end;
  throw new Refusal('too-many-streams', 'too many streams are open', {
    help: 'Close one, or read several topics from `/v1/stream`.',
    headers: { 'retry-after': '5' },
  });
}

interface RunStream {
  readonly who: Who;
  readonly handle: Run;
  readonly signal: AbortSignal;
  readonly end: () => void;
  readonly after: string | undefined;
  readonly text: boolean;
  readonly isWanted: (event: RunEvent) => boolean;
  readonly shown: (event: RunEvent) => RunEvent;
}

export function runStream(services: Services, given: RunStream): Response {
  const { who, handle, signal, end, after } = given;
  const stop = stopOf(services, who, signal);
  const source = eventsOf(handle.events({ ...present({ after }), signal: stop.signal }), given);
  return sseResponse(source, {
    signal: stop.signal,
    onEnd: () => {
      stop.dispose();
      end();
    },
  });
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
export function stopOf(
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
