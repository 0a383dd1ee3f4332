/**
 * The events of one run, and the views that follow from them by the same fold as on the server. Events are read in segments of journal
 * events; each segment begins with the view of the server, so that a run of any length opens with its last events, and a drag of the
 * slider folds one segment at most. Nothing else computes a state of the run.
 */
import type { Change } from '@sluice-internal/client';
import { foldEvents, startOfView } from '@sluice-internal/client/fold';
import type { RunEvent, RunView } from '@sluice-internal/wire';
import { live } from './live.ts';
import { ask, runPath } from './server.ts';
import type { Page } from './types.ts';

const SEGMENT = 1000;
/** Runs up to this length are read whole. */
const WHOLE = 3000;
const PAGE = 1000;

interface Segment {
  /** The view before the first event. */
  readonly base: RunView;
  readonly events: readonly RunEvent[];
}

/** What the page draws at one moment. It changes as a whole, at most once a frame. */
export interface RunSnapshot {
  /** The view at the last event; null until it was read. */
  readonly tip: RunView | null;
  /** The last journal event. */
  readonly last: number;
  /** The events that were read: all of them from one on. */
  readonly events: readonly RunEvent[];
  /** The journal event before the first one that was read; 0 if there is none. */
  readonly before: number;
  /** Replies that are being written, by call. */
  readonly texts: ReadonlyMap<string, string>;
  readonly error: unknown;
}

const EMPTY: RunSnapshot = { tip: null, last: 0, events: [], before: 0, texts: new Map(), error: null };
/** After these the report on the run is another. */
const DECISIVE = /^(run\.|question\.|tool\.finished|tool\.failed|undo\.|budget\.granted|node\.failed)/;

export class RunStore {
  readonly run: string;
  readonly #segments = new Map<number, Segment>();
  readonly #reading = new Map<number, Promise<void>>();
  readonly #watchers = new Set<() => void>();
  readonly #onDecisive: () => void;
  #snapshot = EMPTY;
  #texts = new Map<string, string>();
  /** Events that came, and are not in a segment yet. */
  #queue: RunEvent[] = [];
  #isRead = false;
  #isBehind = false;
  #frame: number | null = null;
  /** The view at the last event but those of the last journal event, which may have more. */
  #solid: RunView | null = null;
  #folded = 0;

  constructor(run: string, onDecisive: () => void) {
    this.run = run;
    this.#onDecisive = onDecisive;
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  };
  readonly snapshot = (): RunSnapshot => this.#snapshot;
  /** How many events were folded since the page was opened. */
  readonly folded = (): number => this.#folded;

  /** Reads the run, then follows it. */
  open(): () => void {
    const over = new AbortController();
    const follow = async (): Promise<void> => {
      await this.#readTail();
      if (over.signal.aborted) return;
      const options = { onOpen: () => void this.#catchUp(), place: this.#lastId() };
      const close = live.subscribe(`run:${this.run}`, (change) => this.#hear(change), options);
      over.signal.addEventListener('abort', close);
    };
    follow().catch((error: unknown) => this.#set({ error }));
    return () => {
      over.abort();
      live.behind(this.run, false);
      if (this.#frame !== null) cancelAnimationFrame(this.#frame);
      this.#frame = null;
    };
  }

  /** The view after a journal event; null while it is being read. */
  viewAt(at: number): RunView | null {
    const { tip, last } = this.#snapshot;
    if (at >= last) return tip;
    const number = segmentOf(at);
    const segment = this.#segments.get(number);
    if (segment !== undefined) return this.#fold(segment.events, segment.base, at);
    void this.#read(number).catch(() => undefined);
    return null;
  }

  /** Reads the events before those that were read. */
  readonly readOlder = async (): Promise<void> => {
    const { before } = this.#snapshot;
    if (before > 0) await this.#read(segmentOf(before)).catch(() => undefined);
  };

  async #readTail(): Promise<void> {
    const { last } = await ask<{ readonly last: number }>(`${runPath(this.run)}/state`, { query: { at: 1 } });
    const end = segmentOf(Math.max(1, last));
    const first = last <= WHOLE ? 0 : last % SEGMENT < SEGMENT / 2 ? end - 1 : end;
    for (let number = first; number <= end; number++) await this.#read(number, number === end);
    this.#isRead = true;
    this.#refold();
  }

  /** A segment is whole, or the last one. */
  #read(number: number, isLast = false): Promise<void> {
    const known = this.#reading.get(number);
    if (known !== undefined) return known;
    const from = number * SEGMENT;
    const reading = (async () => {
      const base =
        from === 0 ? startOfView() : await ask<RunView>(`${runPath(this.run)}/state`, { query: { at: from } });
      const events = await this.#eventsAfter(from === 0 ? '0' : String(from), isLast ? Infinity : from + SEGMENT);
      this.#segments.set(number, { base: { ...startOfView(), ...base }, events });
      if (!isLast) this.#refold();
    })();
    this.#reading.set(number, reading);
    reading.catch(() => this.#reading.delete(number));
    return reading;
  }

  async #eventsAfter(after: string, end: number): Promise<readonly RunEvent[]> {
    const found: RunEvent[] = [];
    for (let place = after; ;) {
      const query = { after: place, limit: PAGE };
      const { items, next } = await ask<Page<RunEvent>>(`${runPath(this.run)}/events`, { query });
      found.push(...items);
      const last = found.at(-1);
      if (next === null || (last !== undefined && last.seq > end)) break;
      place = next;
    }
    return found.filter(({ seq }) => seq <= end);
  }

  #lastId(): string {
    return this.#snapshot.events.at(-1)?.id ?? '0';
  }

  /** Reads what came while nobody told it. */
  async #catchUp(): Promise<void> {
    if (this.#isBehind || !this.#isRead) return;
    this.#isBehind = true;
    const late = setTimeout(() => live.behind(this.run, true), 1000);
    try {
      const missed = await this.#eventsAfter(this.#lastId(), Infinity);
      this.#isBehind = false;
      this.#queue = [...missed, ...this.#queue];
      this.#flush();
      live.behind(this.run, false);
    } catch {
      // Without a connection the stream opens again, and asks again.
      this.#isBehind = false;
    } finally {
      clearTimeout(late);
    }
  }

  #hear(change: Change): void {
    if (change.topic === 'gap') return void this.#catchUp();
    if (typeof change['id'] !== 'string') return this.#write(change as unknown as TextPiece);
    this.#queue.push(change as unknown as RunEvent);
    this.#soon();
  }

  #write({ call, from, text }: TextPiece): void {
    const before = this.#texts.get(call) ?? '';
    // A piece that is missing comes with the whole reply.
    if (before.length < from) return;
    this.#texts.set(call, before.slice(0, from) + text);
    this.#soon();
  }

  /** All that came in a frame is drawn at once. A page that nobody sees has no frames. */
  #soon(): void {
    if (this.#frame !== null || this.#isBehind) return;
    const flush = (): void => {
      this.#frame = null;
      this.#flush();
    };
    if (document.hidden) setTimeout(flush, 250);
    this.#frame = document.hidden ? 0 : requestAnimationFrame(flush);
  }

  #flush(): void {
    const last = this.#lastId();
    const fresh = this.#queue.filter(({ id }) => isAfter(id, last)).toSorted((a, b) => (isAfter(a.id, b.id) ? 1 : -1));
    this.#queue = [];
    const events = fresh.filter(({ id }, at) => id !== fresh[at - 1]?.id);
    if (events.length > 0) this.#append(events);
    else this.#set({ texts: new Map(this.#texts) });
    if (events.some(({ type }) => DECISIVE.test(type))) this.#onDecisive();
  }

  #append(events: readonly RunEvent[]): void {
    for (const event of events) if (event.type === 'model.finished') this.#texts.delete(event.call);
    const all = [...this.#snapshot.events, ...events];
    const last = all.at(-1)?.seq ?? 0;
    const before = this.#solid ?? startOfView();
    const open = all.slice(all.findLastIndex(({ seq }) => seq <= before.seq) + 1);
    this.#solid = this.#fold(open, before, last - 1);
    this.#intoSegments(events);
    this.#set({
      ...{ events: all, last, texts: new Map(this.#texts) },
      tip: this.#fold(
        open.filter(({ seq }) => seq === last),
        this.#solid,
        last,
      ),
    });
  }

  #intoSegments(events: readonly RunEvent[]): void {
    for (const [number, own] of Map.groupBy(events, ({ seq }) => segmentOf(seq))) {
      const known = this.#segments.get(number);
      const base = known?.base ?? this.viewAt(number * SEGMENT) ?? startOfView();
      this.#segments.set(number, { base, events: [...(known?.events ?? []), ...own] });
      this.#reading.set(number, Promise.resolve());
    }
  }

  /** All segments in a row up to the last one, as one. */
  #refold(): void {
    const numbers = [...this.#segments.keys()].toSorted((a, b) => b - a);
    const end = numbers[0];
    if (end === undefined || !this.#isRead) return;
    const row = numbers.filter((number, at) => number === end - at).toReversed();
    const segments = row.flatMap((number) => this.#segments.get(number) ?? []);
    const [first] = segments;
    if (first === undefined) return;
    const events = segments.flatMap(({ events: own }) => own);
    const last = events.at(-1)?.seq ?? 0;
    this.#solid = this.#fold(events, first.base, last - 1);
    const tip = this.#fold(
      events.filter(({ seq }) => seq === last),
      this.#solid,
      last,
    );
    this.#set({ tip, last, events, before: (row[0] ?? 0) * SEGMENT, error: null });
  }

  #fold(events: readonly RunEvent[], from: RunView, at: number): RunView {
    this.#folded += events.length;
    return foldEvents(events, from, at);
  }

  #set(change: Partial<RunSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const watcher of this.#watchers) watcher();
  }
}

interface TextPiece {
  readonly call: string;
  readonly from: number;
  readonly text: string;
}

/** The first event has the number 1. */
function segmentOf(seq: number): number {
  return Math.floor(Math.max(0, seq - 1) / SEGMENT);
}

function isAfter(id: string, other: string): boolean {
  const [seq = 0, index = 0] = id.split('.').map(Number);
  const [otherSeq = 0, otherIndex = -1] = other.split('.').map(Number);
  return seq > otherSeq || (seq === otherSeq && index > otherIndex);
}
