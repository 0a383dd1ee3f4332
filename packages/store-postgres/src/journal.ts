/**
 * Loads and commits runs. Commits that wait while another one is under way share the next statement. An append whose fence or lease does
 * not hold is left out by the server. An error of one row is found by halves, so that it fails its own call only.
 */
import type { Append, Blob, Journal, Snapshot, StoredAppend, WorkerId } from '@sluice-internal/engine/ports';
import { createAudit } from './audit.ts';
import { createChanges } from './changes.ts';
import { SLOW_MS } from './database.ts';
import type { Database } from './database.ts';
import { isDataError } from './faults.ts';
import { headIn } from './lane.ts';
import type { Head, Lane } from './lane.ts';
import { firstStatement, segmentsOf, valuesOf } from './segments.ts';
import type { Segment } from './segments.ts';

type Stored = 'committed' | 'stale';

interface Call {
  readonly results: Stored[];
  open: number;
  error: unknown;
  readonly resolve: (results: readonly Stored[]) => void;
  readonly reject: (error: unknown) => void;
}
interface Waiting {
  readonly segment: Segment;
  readonly call: Call;
}

/** Stores appends. `onReleased` gets the runs that ended or wait now. */
export class Commits {
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #onReleased: (runs: readonly string[]) => void;
  #waiting: Waiting[] = [];
  #working: Promise<void> | null = null;

  constructor(database: Database, lane: Lane, onReleased: (runs: readonly string[]) => void) {
    this.#database = database;
    this.#lane = lane;
    this.#onReleased = onReleased;
  }

  commit: Journal['commit'] = (worker: WorkerId, appends: readonly Append[]) => {
    const bad = appends.find(({ entry, after, flow }) => entry?.first !== undefined && after === 0 && flow === null);
    if (bad !== undefined) return Promise.reject(new TypeError(`the first append of run ${bad.run} has no flow`));
    const { promise, resolve, reject } = Promise.withResolvers<readonly Stored[]>();
    const segments = segmentsOf(worker, appends);
    const call: Call = { results: appends.map(() => 'stale'), open: segments.length, error: null, resolve, reject };
    if (segments.length === 0) resolve([]);
    for (const segment of segments) this.#waiting.push({ segment, call });
    this.#schedule();
    return promise;
  };

  /** Resolves when all commits that were asked for are stored. */
  async flush(): Promise<void> {
    while (this.#working !== null || this.#waiting.length > 0) {
      this.#schedule();
      await this.#working;
    }
  }

  #schedule(): void {
    if (this.#working !== null || this.#waiting.length === 0) return;
    this.#working = Promise.resolve()
      .then(() => this.#work())
      .finally(() => {
        this.#working = null;
        this.#schedule();
      });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = firstStatement(this.#waiting);
      this.#waiting = this.#waiting.slice(batch.length);
      await this.#store(batch);
    }
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    try {
      const stored = await this.#send(batch.map(({ segment }) => segment));
      const refused = batch.filter((_, index) => !stored.has(index));
      // A segment was stored whole or not at all. One that was refused may have a part that is stored already.
      const mixed = refused.filter(({ segment }) => segment.appends.length > 1);
      batch.forEach((each, index) => {
        if (!mixed.includes(each)) this.#done(each, stored.has(index) ? 'committed' : 'stale');
      });
      for (const each of mixed) await this.#storeSingly(each);
    } catch (error) {
      if (isDataError(error) && batch.length > 1) {
        const middle = Math.ceil(batch.length / 2);
        await this.#store(batch.slice(0, middle));
        await this.#store(batch.slice(middle));
        return;
      }
      for (const { call } of batch) call.error ??= error;
      for (const each of batch) this.#done(each, 'stale');
    }
  }

  async #storeSingly({ segment, call }: Waiting): Promise<void> {
    try {
      for (const [index, append] of segment.appends.entries()) {
        const one = { worker: segment.worker, appends: [append], at: [], size: 0 };
        const stored = await this.#send([one]);
        if (stored.has(0)) call.results[segment.at[index] ?? 0] = 'committed';
      }
    } catch (error) {
      call.error ??= error;
    }
    this.#settle(call);
  }

  /** The places of the segments that were stored. */
  async #send(segments: readonly Segment[]): Promise<ReadonlySet<number>> {
    const { done } = await this.#lane.record(async (place) => {
      const values = [segments[0]?.worker ?? '', ...place, ...valuesOf(segments)];
      const [row] = await this.#database.query<{ r: (Head & { done: number[] }) | null }>(COMMIT, values);
      const head = headIn(row?.r as never);
      return { head: head?.chain === undefined ? null : head, done: row?.r?.done ?? [] };
    });
    const released = segments.flatMap(({ appends }, index) => {
      const entry = appends.findLast((append) => append.entry !== null)?.entry;
      const rests = entry !== null && entry !== undefined && entry.status !== 'running' && entry.status !== 'pending';
      return rests && done.includes(index) ? [appends[0]?.run ?? ''] : [];
    });
    if (released.length > 0) this.#onReleased(released);
    return new Set(done);
  }

  #done({ segment, call }: Waiting, result: Stored): void {
    for (const at of segment.at) call.results[at] = result;
    this.#settle(call);
  }

  #settle(call: Call): void {
    call.open -= 1;
    if (call.open > 0) return;
    if (call.error === null) call.resolve(call.results);
    else call.reject(call.error);
  }
}

const COMMIT = 'SELECT @commit($1, $2, $3, $4, $5::json, $6::text[], $7::json, $8::json) AS r';

export function createJournal(database: Database, commits: Commits): Journal {
  const audit = createAudit(database);
  return {
    commit: commits.commit,
    changes: createChanges(database),
    broken: audit.broken,
    page: (run, after, limit) =>
      database.query<StoredAppend>(
        `SELECT after, count, at, body, hash FROM @log WHERE run = (SELECT id FROM @runs WHERE run = $1) AND after >= $2
         ORDER BY after LIMIT $3`,
        [run, after, limit],
      ),
    checkpoints: (run) =>
      database.query(
        `SELECT seq, head, at, key, signature FROM @checkpoints WHERE run = (SELECT id FROM @runs WHERE run = $1) ORDER BY seq`,
        [run],
      ),
    load: async (run, { snapshot: wants = true, after = 0 } = {}) => {
      const [row] = await database.query<LoadedRow>(LOAD, [run, wants, after], SLOW_MS);
      if (row === undefined) return null;
      const { flow, snapshot, appends, blobs } = row;
      return { flow, snapshot, appends: appends ?? [], blobs: blobs ?? [] };
    },
  };
}

interface LoadedRow {
  readonly flow: string;
  readonly snapshot: Snapshot | null;
  readonly appends: readonly StoredAppend[] | null;
  readonly blobs: readonly Blob[] | null;
}

/** One statement, so that all parts are of the same moment. A snapshot counts if an append ends where it was made. */
const LOAD = `
  WITH of AS (
    SELECT r.id, coalesce(f.text, '') AS flow FROM @runs r LEFT JOIN @flows f ON f.id = r.graph WHERE r.run = $1
  ), snap AS (
    SELECT s.seq, s.hash, s.body FROM @snapshots s JOIN of ON s.run = of.id
    WHERE $2 AND EXISTS (SELECT 1 FROM (SELECT l.after, l.count, l.hash FROM @log l WHERE l.run = of.id AND l.after < s.seq
      ORDER BY l.after DESC LIMIT 1) last WHERE last.after + last.count = s.seq AND last.hash = s.hash)
  )
  SELECT of.flow,
    (SELECT json_build_object('seq', seq, 'hash', hash, 'body', body) FROM snap) AS snapshot,
    (SELECT json_agg(json_build_object('after', l.after, 'count', l.count, 'at', l.at, 'body', l.body, 'hash', l.hash) ORDER BY l.after)
      FROM @log l WHERE l.run = of.id AND l.after >= coalesce((SELECT seq FROM snap), $3::bigint)) AS appends,
    (SELECT json_agg(json_build_object('hash', b.hash, 'body', b.body) ORDER BY b.number) FROM @blobs b WHERE b.run = of.id) AS blobs
  FROM of`;
