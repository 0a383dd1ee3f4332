/**
 * A run that was loaded, verified and folded once. It takes in what is stored afterwards: events of this process as they are
 * stored, events of other processes with `refresh`. No event is decoded twice. Before the run is continued, `verify` hashes
 * its stored rows again, because they may have been changed since.
 */
import { evolve } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Event, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { Blob, Journal, StoredAppend, StoredRun } from '../ports/ports.ts';
import type { ChainedEvent } from '../ports/types.ts';
import { genesis, link, linkEvents } from './chain.ts';
import { decodeEvents, snapshotHashIn } from './codec.ts';
import { loadRun, readable, tolerate, type ReadOptions } from './read.ts';
import { storedPrint } from './stored-graph.ts';
import { changedBlob, createShelf } from './values.ts';
import { broken, loadVerified, verifyRest, type VerifiedRun } from './verify.ts';

/** An append without its body. */
export type Link = Omit<StoredAppend, 'body'>;

/** A run as its events describe it. */
export type ReadRun = Pick<OpenRun, 'program' | 'state' | 'events'>;

export function readRun(journal: Journal, run: RunId, options: ReadOptions = {}): Promise<OpenRun> {
  return OpenRun.load(journal, run, options);
}

export class OpenRun {
  readonly run: RunId;
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly Event[];
  /** The verified appends, in order. */
  readonly links: readonly Link[];
  blobs: readonly Blob[];
  /** Events and bytes since the last snapshot. */
  eventsSince = 0;
  bytesSince = 0;
  /** SHA-256 of the stored graph. */
  readonly print: string;
  /** The run was read to be continued at once, so that it need not be read again for that. */
  isJustRead = false;
  readonly #journal: Journal;
  #refreshed: Promise<void> = Promise.resolve();
  /** The run was changed or removed. Its state may be half of an append. */
  #failure: SluiceError | null = null;

  private constructor(run: RunId, journal: Journal, read: Folded) {
    this.run = run;
    this.#journal = journal;
    this.program = read.program;
    this.state = read.state;
    this.events = read.events;
    this.links = read.links;
    this.blobs = read.blobs;
    this.print = read.print;
    this.eventsSince = read.eventsSince;
    this.bytesSince = read.bytesSince;
  }

  /** Throws if there is no such run, or if it was changed from outside. */
  static async load(journal: Journal, run: RunId, options: ReadOptions = {}): Promise<OpenRun> {
    const { program, stored } = await loadRun(journal, run, options);
    const folded: Folding = {
      ...{ program, state: null, events: [], links: [], blobs: stored.blobs },
      ...{ print: storedPrint(stored.flow), eventsSince: 0, bytesSince: 0 },
    };
    const { unpack } = createShelf(stored.blobs);
    try {
      for (const append of stored.appends) fold(run, folded, append, unpack);
    } catch (error) {
      tolerate(run, error, options);
    }
    if (!isBegun(folded)) throw new SluiceError('run-not-found', `run \`${run}\` has no events`);
    return new OpenRun(run, journal, folded);
  }

  /** The number of the last event. */
  get seq(): number {
    const last = this.links.at(-1);
    return last === undefined ? 0 : last.after + last.count;
  }

  /** The end of the chain. */
  get head(): string {
    return this.links.at(-1)?.hash ?? genesis(this.run, this.print);
  }

  /** Takes in what other processes have stored since. Throws if it does not follow on what was read before. */
  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  /** The same, and throws if the graph, the snapshot, a value or an event that was read before has changed. */
  verify(): Promise<void> {
    return this.#inTurn(async () => {
      const verified = await loadVerified(this.#journal, this.run);
      if (verified === null) throw removed(this.run);
      await verifyRest(this.#journal, verified);
      this.#demandSame(verified);
      await this.#refresh();
    });
  }

  /** True if the run was changed or removed, and cannot be used any more. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** One after the other. A call that waits reads what is stored when its turn comes. */
  #inTurn(read: () => Promise<void>): Promise<void> {
    const turn = this.#after(this.#refreshed, read);
    this.#refreshed = turn.catch(() => undefined);
    return turn;
  }

  async #after(earlier: Promise<void>, read: () => Promise<void>): Promise<void> {
    await earlier;
    if (this.#failure !== null) throw this.#failure;
    try {
      await read();
    } catch (error) {
      if (error instanceof SluiceError && FINAL.has(error.code)) this.#failure = error;
      throw error;
    }
  }

  async #refresh(): Promise<void> {
    const { run, seq } = this;
    if ((await this.#journal.page(run, seq, 1)).length > 0) {
      const stored = await this.#journal.load(run, { snapshot: false, after: seq });
      if (stored === null) throw removed(run);
      this.#takeIn(stored);
    } else if ((await this.#journal.page(run, 0, 1)).length === 0) throw removed(run);
  }

  /** Throws if a row or value is not the one that was read. Rewritten rows can have a chain that verifies by itself. */
  #demandSame({ links, stored: { blobs } }: VerifiedRun): void {
    const { run } = this;
    const kept = new Set(blobs.map(({ hash }) => hash));
    const lost = this.blobs.find(({ hash }) => !kept.has(hash));
    if (lost !== undefined) throw broken(run, `the stored value ${lost.hash} is missing`);
    for (const [index, known] of this.links.entries()) {
      const found = links[index];
      if (found === undefined) throw broken(run, `event ${known.after + 1} is missing`);
      // The hash does not cover the count.
      if (found.count !== known.count) throw broken(run, `the count at event ${known.after + 1} was changed`);
      if (found.hash !== known.hash) throw broken(run, `event ${known.after + 1}, or one stored with it, was changed`);
    }
  }

  #takeIn({ appends, blobs }: StoredRun): void {
    const { run } = this;
    const blob = changedBlob(blobs);
    if (blob !== undefined) throw broken(run, `the stored value ${blob.hash} was changed`, 'read');
    const { unpack } = createShelf(blobs);
    this.blobs = blobs;
    for (const append of appends) {
      // This process may have stored some of them since.
      if (append.after < this.seq) continue;
      if (append.after !== this.seq || link(this.head, append.after, append.at, append.body) !== append.hash)
        throw broken(run, `event ${append.after + 1}, or one stored with it, was changed`, 'read');
      fold(run, this, append, unpack);
    }
  }

  /** Takes in events that this process has stored. Events that do not follow are left to `refresh`. */
  take(events: readonly Event[], previousHead: string, stored: Stored): void {
    const [first] = events;
    if (first === undefined || first.seq !== this.seq + 1 || previousHead !== this.head) return;
    const at = { after: this.seq, count: events.length, at: first.at, hash: stored.head };
    for (const event of events) {
      evolve(this.state, event);
      (this.events as Event[]).push(event);
    }
    (this.links as Link[]).push(at);
    this.eventsSince = stored.eventsSince;
    this.bytesSince = stored.bytesSince;
  }

  /** The events with their hashes. Leaves out appends that end with event `after` or an earlier one, except the last append. */
  *chained(after = 0): Generator<ChainedEvent> {
    let previous = genesis(this.run, this.print);
    for (const { after: begin, count, hash } of this.links) {
      const end = begin + count;
      if (end > after || end === this.seq) yield* linkEvents(previous, this.events.slice(begin, end), hash);
      previous = hash;
    }
  }
}

/** The end of a run as its owner has stored it. */
type Stored = Pick<OpenRun, 'head' | 'eventsSince' | 'bytesSince'>;

/** After these errors, what was read can no longer be used. */
const FINAL: ReadonlySet<string> = new Set(['chain-broken', 'journal-damaged', 'run-not-found']);

function removed(run: RunId): SluiceError {
  return new SluiceError('run-not-found', `there is no run \`${run}\``, 'List the runs with `sluice runs`.');
}

interface Folding {
  readonly program: Program;
  state: RunState | null;
  readonly events: readonly Event[];
  readonly links: readonly Link[];
  readonly blobs: readonly Blob[];
  readonly print: string;
  eventsSince: number;
  bytesSince: number;
}
interface Folded extends Folding {
  state: RunState;
}

function isBegun(folding: Folding): folding is Folded {
  return folding.state !== null;
}

function fold(
  run: RunId,
  into: Omit<Folding, 'print' | 'blobs'>,
  append: StoredAppend,
  unpack: Parameters<typeof decodeEvents>[2],
): void {
  const { after, count, at, hash, body } = append;
  const events = readable(run, `event ${after + 1}`, () => decodeEvents(into.program, append, unpack));
  // The hash does not cover the count.
  if (events.length !== count) throw broken(run, `the count at event ${after + 1} was changed`, 'read');
  for (const event of events) {
    into.state = evolve(into.state, event);
    (into.events as Event[]).push(event);
  }
  (into.links as Link[]).push({ after, count, at, hash });
  const isCovered = snapshotHashIn(body) !== null;
  into.eventsSince = isCovered ? 0 : into.eventsSince + count;
  into.bytesSince = isCovered ? 0 : into.bytesSince + body.length;
}

/**
 * Reads a run, and keeps it as long as the result is referenced: until then, nothing that works on the same journal decodes its
 * events again.
 */
export async function openRun(journal: Journal, run: RunId): Promise<OpenRun> {
  const opened = openRunsOf(journal);
  return opened.get(run) ?? opened.reading(run, () => readRun(journal, run));
}

/**
 * For a command that continues the run at once: its rows are read and hashed once. The run is kept as long as the journal: without
 * that, the memory of a run that no variable names any more is freed in the middle of the command, and the run is read again.
 */
export async function openToContinue(journal: Journal, run: RunId): Promise<OpenRun> {
  const opened = openRunsOf(journal).keep(await readRun(journal, run));
  opened.isJustRead = true;
  return opened;
}

export function openRunsOf(journal: Journal): OpenRuns {
  let found = byJournal.get(journal);
  if (found === undefined) byJournal.set(journal, (found = new OpenRuns()));
  return found;
}

/** The open runs of a journal. A run leaves the list when its last reader has forgotten it, unless the list keeps it. */
export class OpenRuns {
  readonly #runs = new Map<RunId, WeakRef<OpenRun>>();
  readonly #kept = new Set<OpenRun>();
  readonly #reading = new Map<RunId, Promise<OpenRun>>();
  readonly #forgotten = new FinalizationRegistry((run: RunId) => {
    if (this.#runs.get(run)?.deref() === undefined) this.#runs.delete(run);
  });

  get(run: RunId): OpenRun | undefined {
    const found = this.#runs.get(run)?.deref();
    return found?.hasFailed === true ? undefined : found;
  }

  /** Callers that come while the run is read share one reading. */
  reading(run: RunId, read: () => Promise<OpenRun>): Promise<OpenRun> {
    const known = this.#reading.get(run);
    if (known !== undefined) return known;
    const reading = read()
      .then((opened) => this.add(opened))
      .finally(() => this.#reading.delete(run));
    this.#reading.set(run, reading);
    return reading;
  }

  add(opened: OpenRun): OpenRun {
    this.#runs.set(opened.run, new WeakRef(opened));
    this.#forgotten.register(opened, opened.run);
    return opened;
  }

  keep(opened: OpenRun): OpenRun {
    this.#kept.add(opened);
    return this.add(opened);
  }
}

const byJournal = new WeakMap<Journal, OpenRuns>();
