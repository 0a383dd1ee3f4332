/**
 * One stream of changes for a whole browser. The tab that holds the lock reads `/stream`, and tells the others what came. A tab that hears
 * nothing of a reader for 3 s reads by itself. A lost connection is made again by the client, at the place where it was.
 */
import type { Change } from '@sluice-internal/client';
import { useSyncExternalStore } from 'react';
import { noteStranger, server } from './server.ts';

export type Connection = 'live' | 'reconnecting' | 'behind';
type Listener = (change: Change) => void;

/** By topic: an event. */
type Places = { readonly [topic: string]: string };

type Message =
  /** From every tab: the runs that it shows, such as `run:r_1`, each with the last event that it has. */
  | { readonly kind: 'want'; readonly tab: string; readonly topics: Places }
  | { readonly kind: 'bye'; readonly tab: string }
  /** From the reader: who is there? */
  | { readonly kind: 'who' }
  | { readonly kind: 'open'; readonly isOpen: boolean; readonly topics: readonly string[] }
  | { readonly kind: 'change'; readonly change: Change; readonly place: string | undefined };

const LISTS = ['runs', 'questions', 'flows'];
const PATIENCE_MS = 3000;
const TOGETHER_MS = 60;
const RUNS_MAX = 20;
const LOCK = 'sluice-stream';

class Live {
  readonly #tab = Math.random().toString(36).slice(2);
  readonly #channel = new BroadcastChannel(LOCK);
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #openings = new Map<string, Set<() => void>>();
  readonly #watchers = new Set<() => void>();
  /** What each tab wants, for the tab that reads. */
  readonly #wanted = new Map<string, Places>();
  readonly #places = new Map<string, string>();
  readonly #behind = new Set<string>();
  #isOpen = false;
  #lostAt: number | null = null;
  #read: readonly string[] = [];
  #reading: AbortController | null = null;
  #place: string | undefined;
  /** The last event of each run that this tab has read. */
  readonly #seen = new Map<string, string>();
  #restart: ReturnType<typeof setTimeout> | undefined;

  /** Begins once the caller is known. */
  start(): () => void {
    const over = new AbortController();
    const hear = ({ data }: MessageEvent<Message>): void => this.#hear(data);
    this.#channel.addEventListener('message', hear);
    const { locks } = navigator as { readonly locks?: LockManager };
    if (locks === undefined) this.#lead();
    else
      void locks
        .request(LOCK, { signal: over.signal }, () => {
          this.#lead();
          return new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()));
        })
        .catch(() => undefined);
    const alone = setTimeout(() => {
      if (this.#read.length === 0) this.#lead();
    }, PATIENCE_MS);
    this.#want();
    const bye = (): void => this.#channel.postMessage({ kind: 'bye', tab: this.#tab } satisfies Message);
    addEventListener('pagehide', bye);
    return () => {
      clearTimeout(alone);
      clearTimeout(this.#restart);
      over.abort();
      bye();
      removeEventListener('pagehide', bye);
      this.#reading?.abort();
      this.#reading = null;
      this.#read = [];
      this.#channel.removeEventListener('message', hear);
      this.#opened(false, []);
    };
  }

  /** The changes of a topic. `onOpen`: the stream (again) has the topic; what came before it must be read. */
  subscribe(
    topic: string,
    listener: Listener,
    { onOpen = () => undefined, place }: { readonly onOpen?: () => void; readonly place?: string } = {},
  ): () => void {
    if (place !== undefined) this.#places.set(topic, place);
    add(this.#listeners, topic, listener);
    add(this.#openings, topic, onOpen);
    this.#want();
    if (this.#isOpen && this.#read.includes(topic)) onOpen();
    return () => {
      remove(this.#listeners, topic, listener);
      remove(this.#openings, topic, onOpen);
      this.#want();
    };
  }

  /** Something that a page shows is older than what the server has told. */
  behind(what: string, isBehind: boolean): void {
    if (isBehind === this.#behind.has(what)) return;
    if (isBehind) this.#behind.add(what);
    else this.#behind.delete(what);
    this.#tell();
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  };

  readonly connection = (): Connection => (this.#isOpen ? (this.#behind.size > 0 ? 'behind' : 'live') : 'reconnecting');

  /** Since when there is no connection; null while there is one, or before the first one. */
  readonly lostAt = (): number | null => this.#lostAt;

  #want(): void {
    const topics = Object.fromEntries([...this.#places].filter(([topic]) => this.#listeners.has(topic)));
    const want = { kind: 'want', tab: this.#tab, topics } satisfies Message;
    this.#channel.postMessage(want);
    this.#hear(want);
  }

  #hear(message: Message): void {
    switch (message.kind) {
      case 'who':
        return this.#want();
      case 'change':
        // The next reader goes on where this one was.
        this.#place = message.place ?? this.#place;
        return this.#change(message.change);
      case 'open':
        return this.#reading === null ? this.#opened(message.isOpen, message.topics) : undefined;
      case 'want':
        this.#wanted.set(message.tab, message.topics);
        return this.#renew();
      case 'bye':
        this.#wanted.delete(message.tab);
        return this.#renew();
    }
  }

  #lead(): void {
    if (this.#reading !== null) return;
    this.#reading = new AbortController();
    this.#channel.postMessage({ kind: 'who' } satisfies Message);
    this.#renew(true);
  }

  /** Reads anew when the tabs want other topics. */
  #renew(isFirst = false): void {
    if (this.#reading === null) return;
    clearTimeout(this.#restart);
    this.#restart = setTimeout(() => {
      const runs = new Set([...this.#wanted.values()].flatMap((each) => Object.keys(each)));
      const topics = [...LISTS, ...[...runs].slice(-RUNS_MAX)];
      if (!isFirst && topics.join() === this.#read.join()) return this.#broadcast();
      this.#reading?.abort();
      this.#reading = new AbortController();
      this.#read = topics;
      void this.#follow(topics, this.#reading.signal);
    }, TOGETHER_MS);
  }

  /** Goes on until other topics are wanted. A server that refuses is asked again. */
  async #follow(topics: readonly string[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const named = topics.map((topic) => (LISTS.includes(topic) ? topic : `${topic}@${this.#placeOf(topic)}`));
      await server
        .stream(named, (change, place) => this.#take(change, place), {
          signal,
          ...(this.#place === undefined ? {} : { after: this.#place }),
          onConnection: (isOpen) => this.#connected(isOpen),
        })
        .catch(noteStranger);
      if (signal.aborted) return;
      this.#connected(false);
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    }
  }

  /** A tab that has less reads the rest by itself when the stream opens. */
  #placeOf(topic: string): string {
    const wanted = [...this.#wanted.values()].flatMap((each) => each[topic] ?? []);
    return this.#seen.get(topic) ?? wanted[0] ?? '0';
  }

  #take(change: Change, place: string | undefined): void {
    this.#place = place ?? this.#place;
    if (typeof change['id'] === 'string' && change.topic.startsWith('run:')) this.#seen.set(change.topic, change['id']);
    this.#channel.postMessage({ kind: 'change', change, place } satisfies Message);
    this.#change(change);
  }

  #connected(isOpen: boolean): void {
    this.#opened(isOpen, this.#read);
    this.#broadcast();
  }

  #broadcast(): void {
    this.#channel.postMessage({ kind: 'open', isOpen: this.#isOpen, topics: this.#read } satisfies Message);
  }

  #opened(isOpen: boolean, topics: readonly string[]): void {
    const fresh = this.#isOpen ? topics.filter((topic) => !this.#read.includes(topic)) : topics;
    const was = this.#isOpen;
    this.#isOpen = isOpen;
    this.#read = topics;
    this.#lostAt = isOpen ? null : was ? Date.now() : this.#lostAt;
    if (isOpen)
      for (const topic of this.#reading === null ? fresh : topics)
        for (const each of this.#openings.get(topic) ?? []) each();
    this.#tell();
  }

  #change(change: Change): void {
    const topics = change.topic === 'gap' ? gapOf(change) : [change.topic];
    for (const topic of topics) for (const listener of this.#listeners.get(topic) ?? []) listener(change);
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** Whose changes are missing: those of a run, or those of the lists. */
function gapOf(change: Change): readonly string[] {
  return typeof change['run'] === 'string' ? [`run:${change['run']}`] : LISTS;
}

function add<Item>(sets: Map<string, Set<Item>>, key: string, item: Item): void {
  const set = sets.get(key) ?? new Set<Item>();
  set.add(item);
  sets.set(key, set);
}

function remove<Item>(sets: Map<string, Set<Item>>, key: string, item: Item): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}

export const live = new Live();

export function useConnection(): Connection {
  return useSyncExternalStore(live.watch, live.connection);
}

export function useLostAt(): number | null {
  return useSyncExternalStore(live.watch, live.lostAt);
}
