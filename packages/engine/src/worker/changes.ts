/**
 * The changes of all runs, read from the store in pages. A reader asks for the next page when it has read the last one, so one that is slow
 * holds one page and loses nothing. Appends of this process wake the readers, and so does a hint of the store.
 */
import type { RunChange, Store } from '../ports/ports.ts';
import type { FeedOptions } from '../ports/types.ts';
import { untilStopped } from './feed.ts';

const PAGE_MAX = 500;
/** Without a hint of the store, events of other processes arrive by polling. With one, it may be lost. */
const POLL_MS = 500;
const POLL_HINTED_MS = 5_000;

/** A store may say that another process has stored something. */
interface Hinting {
  subscribe?(wake: () => void): () => void;
}

export class Changes {
  readonly #store: Pick<Store, 'journal'>;
  readonly #patiently: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #readers = new Set<ChangeReader>();
  readonly #pollMs: number;
  readonly #unsubscribe: () => void;

  /** `patiently` repeats work as soon as the store can be reached. */
  constructor(store: Pick<Store, 'journal'> & Hinting, patiently: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#store = store;
    this.#patiently = patiently;
    this.#pollMs = store.subscribe === undefined ? POLL_MS : POLL_HINTED_MS;
    this.#unsubscribe = store.subscribe?.(() => this.wake()) ?? (() => undefined);
  }

  wake(): void {
    for (const reader of this.#readers) {
      reader.isStale = true;
      reader.wake();
    }
  }

  close(): void {
    this.#unsubscribe();
    for (const reader of this.#readers) {
      reader.ended = true;
      reader.wake();
    }
  }

  follow({ after = '', signal }: FeedOptions): AsyncIterableIterator<RunChange> {
    const reader: ChangeReader = { cursor: after, isStale: true, ended: false, wake: () => undefined };
    return untilStopped(this.#read(reader), signal, () => {
      reader.ended = true;
      reader.wake();
    });
  }

  async *#read(reader: ChangeReader): AsyncGenerator<RunChange, undefined> {
    this.#readers.add(reader);
    try {
      if (reader.cursor === 'now') reader.cursor = (await this.#page(null, 0)).next;
      while (!reader.ended) {
        reader.isStale = false;
        const { cursor } = reader;
        const { items, next } = await this.#page(cursor, PAGE_MAX);
        for (const item of items) {
          reader.cursor = item.cursor;
          yield item;
        }
        reader.cursor = next;
        if (next === cursor) await this.#untilWoken(reader);
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  #page(after: string | null, limit: number): ReturnType<Store['journal']['changes']> {
    return this.#patiently(() => this.#store.journal.changes(after, limit));
  }

  /** The timer keeps the process alive while a program follows the runs. */
  async #untilWoken(reader: ChangeReader): Promise<void> {
    if (reader.isStale || reader.ended) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      reader.wake = resolve;
      timer = setTimeout(resolve, this.#pollMs);
    });
    clearTimeout(timer);
  }
}

interface ChangeReader {
  cursor: string;
  /** Something was stored since the last page was asked for. */
  isStale: boolean;
  ended: boolean;
  wake: () => void;
}
