/**
 * Streams the events of a run to its readers: first the stored ones, then new ones as they are committed, each exactly once
 * and in order. A reader may also receive the text of model replies while it is generated; that text is not stored.
 */
import type { Command, EffectKey, Event, RunId } from '@sluice-internal/kernel/ir';
import { linkEvents } from '../journal/chain.ts';
import { openRun, type OpenRuns } from '../journal/open-run.ts';
import { streamRun } from '../journal/read.ts';
import type { Journal, StreamedPart } from '../ports/ports.ts';
import type { TextListeners } from './calls.ts';
import type { ChainedEvent, Delta } from '../ports/types.ts';

/** Events of another process arrive by a hint of the store, or by polling. */
const POLL_MS = 500;
/** What may wait for a reader. Above it the reader goes on from the journal, and misses streamed text. */
const QUEUED_MAX = 1000;
const QUEUED_TEXT_MAX = 1_000_000;

export interface FollowOptions {
  readonly after: number;
  readonly live: boolean;
  readonly deltas: boolean;
  readonly signal?: AbortSignal | undefined;
}

export class Feed implements TextListeners {
  readonly #readers = new Map<RunId, Set<Reader>>();
  /** The text so far of calls in flight, for readers that come in the middle of a reply. */
  readonly #texts = new Map<RunId, Map<EffectKey, Delta>>();
  readonly #opened: OpenRuns;

  readonly #patiently: <T>(work: () => Promise<T>) => Promise<T>;

  /** `patiently` repeats work as soon as the store can be reached. */
  constructor(opened: OpenRuns, patiently: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#opened = opened;
    this.#patiently = patiently;
  }

  publish(run: RunId, events: readonly Event[], previousHead: string, hash: string): void {
    this.#forgetTexts(run, events);
    const readers = this.#readers.get(run);
    if (readers === undefined) return;
    const linked = linkEvents(previousHead, events, hash);
    for (const reader of readers) {
      if (makeRoom(reader, linked.length)) reader.queue.push(...linked);
      reader.wake();
    }
  }

  #forgetTexts(run: RunId, events: readonly Event[]): void {
    const texts = this.#texts.get(run);
    if (texts === undefined) return;
    for (const event of events) if ('key' in event && event.type !== 'effect.requested') texts.delete(event.key);
    if (texts.size === 0 || events.at(-1)?.type === 'run.ended') this.#texts.delete(run);
  }

  /** Another process has stored events of these runs. */
  wake(runs: readonly RunId[]): void {
    for (const run of runs) for (const reader of this.#readers.get(run) ?? []) reader.wake();
  }

  hasListener(run: RunId): boolean {
    return [...(this.#readers.get(run) ?? [])].some(({ deltas }) => deltas);
  }

  onText(command: Command, text: string, part: StreamedPart = 'text'): void {
    const from = part === 'text' ? this.#keep(command, text) : 0;
    for (const reader of this.#readers.get(command.run) ?? []) {
      if (!reader.deltas) continue;
      if (makeRoom(reader, 1)) addDelta(reader.queue, command, { text, part, from });
      reader.wake();
    }
  }

  /** The place of a piece of text in its reply. */
  #keep({ run, key, attempt, name }: Command, text: string): number {
    const texts = this.#texts.get(run) ?? new Map<EffectKey, Delta>();
    this.#texts.set(run, texts);
    const known = texts.get(key);
    const before = known?.attempt === attempt ? known.text : '';
    texts.set(key, { type: 'reply.streamed', run, key, attempt, agent: name, from: 0, text: before + text });
    return before.length;
  }

  end(run: RunId): void {
    this.#texts.delete(run);
    for (const reader of this.#readers.get(run) ?? []) {
      reader.ended = true;
      reader.wake();
    }
  }

  close(): void {
    this.#texts.clear();
    for (const run of this.#readers.keys()) this.end(run);
  }

  /** Aborting the signal and calling `return` end the reader at once, also while it waits for an event. */
  follow(journal: Journal, run: RunId, options: FollowOptions): AsyncIterableIterator<ChainedEvent | Delta> {
    const { after, deltas, signal } = options;
    const reader: Reader = {
      ...{ queue: [], deltas, seen: after, read: 0, ended: false, behind: false },
      wake: () => undefined,
    };
    return untilStopped(this.#read(journal, run, options.live, reader), signal, () => {
      reader.ended = true;
      reader.queue.length = 0;
      reader.wake();
    });
  }

  async *#read(
    journal: Journal,
    run: RunId,
    live: boolean,
    reader: Reader,
  ): AsyncGenerator<ChainedEvent | Delta, undefined> {
    const readers = this.#readers.get(run) ?? new Set();
    // Subscribe before reading, so that no event falls between the two.
    if (live) this.#readers.set(run, readers.add(reader));
    this.#tellTexts(run, reader, live);
    try {
      let last: ChainedEvent | undefined;
      let isQueued = false;
      // A reader of text shows the run to a person. Many such readers share one reading of the run.
      if (reader.deltas) await openRun(journal, run);
      for (const event of await this.#stored(journal, run, reader.seen)) {
        // From here on the queue has the events, with the text that was streamed between them.
        isQueued = reader.queue.some((entry) => entry.type !== 'reply.streamed' && entry.seq <= event.seq);
        if (isQueued) break;
        last = event;
        reader.read = event.seq;
        if (event.seq <= reader.seen) continue;
        reader.seen = event.seq;
        yield event;
      }
      if (live && (isQueued || (last !== undefined && last.type !== 'run.ended')))
        yield* this.#liveEvents(journal, run, reader);
    } finally {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(run);
    }
  }

  /** A reader that comes in the middle of a reply gets its text so far. */
  #tellTexts(run: RunId, { queue, deltas }: Reader, live: boolean): void {
    if (live && deltas) queue.push(...(this.#texts.get(run)?.values() ?? []));
  }

  async *#liveEvents(journal: Journal, run: RunId, reader: Reader): AsyncGenerator<ChainedEvent | Delta> {
    const { queue } = reader;
    for (;;) {
      for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
        if (entry.type === 'reply.streamed') {
          yield entry;
          continue;
        }
        if (entry.seq <= reader.seen) continue;
        if (entry.seq > reader.seen + 1) {
          // Another process committed the events between.
          queue.unshift(...(await this.#patiently(() => this.#newEvents(journal, run, reader))));
          continue;
        }
        reader.read = entry.seq;
        reader.seen = entry.seq;
        yield entry;
        if (entry.type === 'run.ended') return;
      }
      if (reader.behind) {
        reader.behind = false;
        queue.unshift(...(await this.#patiently(() => this.#newEvents(journal, run, reader))));
        continue;
      }
      if (reader.ended) return;
      await waitForWake(reader);
      if (queue.length === 0 && !reader.ended)
        queue.push(...(await this.#patiently(() => this.#newEvents(journal, run, reader))));
    }
  }

  /** A poll that finds nothing reads no row. */
  async #newEvents(journal: Journal, run: RunId, reader: Reader): Promise<readonly ChainedEvent[]> {
    if ((await journal.page(run, reader.read, 1)).length === 0) return [];
    const events = [...(await this.#stored(journal, run, reader.read))];
    reader.read = events.at(-1)?.seq ?? reader.read;
    return events.filter(({ seq }) => seq > reader.seen);
  }

  /** The stored events after a number. The last append is there in any case, so that a reader knows the end. */
  async #stored(journal: Journal, run: RunId, after: number): Promise<Iterable<ChainedEvent>> {
    const opened = this.#opened.get(run);
    if (opened === undefined) return (await streamRun(journal, run, { after })).events;
    await opened.refresh();
    return opened.chained(after);
  }
}

interface Reader {
  readonly queue: (ChainedEvent | Delta)[];
  readonly deltas: boolean;
  /** The last yielded event, or the event after which the reader begins. */
  seen: number;
  /** The last event that was read. It is the last one of its append whenever the queue is empty. */
  read: number;
  ended: boolean;
  /** The queue was dropped: the reader goes on from the journal. */
  behind: boolean;
  wake: () => void;
}

/** False if the reader is too far behind. A reader that stopped reading must not fill the memory. */
function makeRoom(reader: Reader, count: number): boolean {
  if (reader.behind) return false;
  const { queue } = reader;
  const last = queue.at(-1);
  const text = last?.type === 'reply.streamed' ? last.text.length : 0;
  if (queue.length + count <= QUEUED_MAX && text <= QUEUED_TEXT_MAX) return true;
  queue.length = 0;
  reader.behind = true;
  return false;
}

/** `return` of a generator waits for the pending value. `return` of this iterator resolves at once. */
export function untilStopped<Item>(
  source: AsyncGenerator<Item, undefined>,
  signal: AbortSignal | undefined,
  stop: () => void,
): AsyncIterableIterator<Item> {
  const { promise: stopped, resolve } = Promise.withResolvers<IteratorResult<Item>>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    signal?.removeEventListener('abort', end);
    stop();
    resolve({ done: true, value: undefined });
    // The generator ends when its pending read returns. Its error is not reported, because the reader has ended.
    source.return(undefined).catch(() => undefined);
  };
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted === true) end();
  const iterator: AsyncIterableIterator<Item> = {
    next: async () => {
      if (isOver) return stopped;
      const next = source.next();
      next.catch(() => undefined);
      const result = await Promise.race([stopped, next]);
      if (result.done === true) signal?.removeEventListener('abort', end);
      return result;
    },
    return: () => {
      end();
      return stopped;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** The timer keeps the process alive while a program follows a run. */
async function waitForWake(reader: Reader): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    reader.wake = resolve;
    timer = setTimeout(resolve, POLL_MS);
  });
  clearTimeout(timer);
}

/** A slow reader gets longer pieces of text, not more of them. */
function addDelta(
  queue: (ChainedEvent | Delta)[],
  { run, key, attempt, name }: Command,
  { text, part, from }: { readonly text: string; readonly part: StreamedPart; readonly from: number },
): void {
  const last = queue.at(-1);
  const kind = part === 'text' ? { from } : { part };
  const isSame = last?.type === 'reply.streamed' && last.key === key && last.attempt === attempt;
  if (isSame && last.part === (part === 'text' ? undefined : part))
    queue[queue.length - 1] = { ...last, text: last.text + text };
  else queue.push({ type: 'reply.streamed', run, key, attempt, agent: name, ...kind, text });
}
