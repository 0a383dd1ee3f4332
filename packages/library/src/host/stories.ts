/**
 * The public events of runs, computed once for all readers. A reader that comes back gets its place in the list; the run is not
 * translated again. The runs that were read last are kept, up to a number of events in all.
 */
import type { ChainedEvent, Delta, OpenedRun } from '@sluice-internal/engine/ports';
import { createPublicEvents } from '@sluice-internal/engine/report';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { RunEvent } from '@sluice-internal/wire';

/** The public events that are kept in all. One takes about 1 KB. */
const KEPT = 50_000;

export class Stories {
  /** In the order of their last use. */
  readonly #stories = new Map<RunId, { readonly story: Promise<Story>; size: () => number }>();
  readonly #read: (run: RunId) => Promise<OpenedRun>;

  constructor(read: (run: RunId) => Promise<OpenedRun>) {
    this.#read = read;
  }

  /** The story of a run up to its last stored event. Readers that come at once share the work. */
  async of(run: RunId): Promise<Story> {
    const known = this.#stories.get(run) ?? this.#begun(run);
    this.#stories.delete(run);
    this.#stories.set(run, known);
    try {
      const story = await known.story;
      await story.refresh();
      this.#forget();
      return story;
    } catch (error) {
      // The run was removed, or changed from outside.
      this.#stories.delete(run);
      throw error;
    }
  }

  #begun(run: RunId): { readonly story: Promise<Story>; size: () => number } {
    const story = this.#read(run).then((opened) => new Story(opened));
    const begun = { story, size: () => 0 };
    story.then(
      (read) => void (begun.size = () => read.size),
      () => undefined,
    );
    return begun;
  }

  #forget(): void {
    let kept = 0;
    for (const [run, { size }] of [...this.#stories].toReversed()) {
      const own = size();
      kept += own;
      if (kept > KEPT && kept > own) this.#stories.delete(run);
    }
  }
}

/** The public events of one run. */
export class Story {
  readonly opened: OpenedRun;
  readonly #translate: (event: ChainedEvent | OpenedRun['events'][number] | Delta) => readonly RunEvent[];
  /** By the number of their journal event: the first event has number 1. */
  readonly #events: (readonly RunEvent[])[] = [];
  #size = 0;

  constructor(opened: OpenedRun) {
    this.opened = opened;
    this.#translate = createPublicEvents(opened.program);
  }

  /** The number of public events. */
  get size(): number {
    return this.#size;
  }

  /** The last journal event that was translated. */
  get seq(): number {
    return this.#events.length;
  }

  async refresh(): Promise<void> {
    await this.opened.refresh();
    for (const event of this.opened.events.slice(this.seq)) this.#take(event);
  }

  /** The public events of a journal event. */
  at(seq: number): readonly RunEvent[] {
    return this.#events[seq - 1] ?? [];
  }

  /** The public events of a journal event that is read now, or of streamed text. */
  readonly tell = (event: ChainedEvent | Delta): readonly RunEvent[] => {
    if (event.type === 'reply.streamed') return this.#translate(event);
    if (event.seq === this.seq + 1) this.#take(event);
    return this.at(event.seq);
  };

  #take(event: ChainedEvent | OpenedRun['events'][number]): void {
    const told = this.#translate(event);
    this.#events.push(told);
    this.#size += told.length;
  }
}
