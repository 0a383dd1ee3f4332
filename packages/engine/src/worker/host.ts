/**
 * The parts that every operation of the engine shares: the worker, its lease, the feed, and the callers that wait for a run.
 * A store that is away pauses it. A fault, such as a full disk, stops all of it: every waiting and later call rejects with that error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event, Fact, Refusal, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { Clock, Store, WorkerId } from '../ports/ports.ts';
import { Quotas } from '../limits/quotas.ts';
import { realClock } from '../ports/clock.ts';
import { openRunsOf, readRun } from '../journal/open-run.ts';
import { demandRecorded } from '../journal/verify.ts';
import type { OpenRuns, ReadRun } from '../journal/open-run.ts';
import { Changes } from './changes.ts';
import { Feed } from './feed.ts';
import { Hints } from './hints.ts';
import { LEASE_MS, clockOf, createLease, type Lease } from './lease.ts';
import { isAway, patient } from './away.ts';
import { runLimits } from './run-limits.ts';
import type { OwnedRun } from './owned-run.ts';
import type { EngineOptions, NoticeKind } from '../ports/types.ts';
import { Worker } from './worker.ts';

const AWAY_MIN_MS = 50;
const AWAY_MAX_MS = 5_000;
const DRAIN_POLL_MS = 20;

export class Host {
  readonly store: Store;
  readonly clock: Clock;
  readonly worker: Worker;
  readonly lease: Lease;
  readonly opened: OpenRuns;
  readonly feed: Feed;
  readonly hints: Hints;
  readonly changes: Changes;
  /** Runs that broke an invariant or whose chain is broken. This process does not claim them again. */
  readonly broken: Map<RunId, Error> = new Map();
  /** Runs that this process may still own although it does not have them in memory, because its lease had ended. */
  readonly toReclaim: Set<RunId> = new Set();
  /** Called after events of a run are stored. */
  onCommitted: ((owned: OwnedRun, events: readonly Event[]) => void) | null = null;
  /** Runs that broke an invariant and are being ended. */
  readonly ending: Map<RunId, Promise<void>> = new Map();
  /** Ends a run whose state broke an invariant. */
  endBroken: ((run: RunId, why: string) => Promise<void>) | null = null;
  fault: Error | null = null;
  closing = false;
  /** No further run is taken, and no further call is made. */
  draining = false;
  /** How many runs this process takes by itself at a time. */
  readonly concurrency: number;
  /** How often the store was away. */
  timesAway = 0;
  readonly performer: EngineOptions['performer'];
  readonly quotas: Quotas;
  readonly limits: ReturnType<typeof runLimits>;
  /** Throws if this engine must not continue a run with this origin. */
  readonly checkOrigin: NonNullable<EngineOptions['checkOrigin']>;
  /** The public key that must have signed the checkpoints of a run. Null: any key. */
  readonly trustedKey: string | null;
  readonly trustedServers: EngineOptions['trustedServers'];
  readonly #onFault: EngineOptions['onFault'];
  readonly #onNotice: EngineOptions['onNotice'];
  readonly #waiters = new Map<RunId, PromiseWithResolvers<void>[]>();
  readonly #stopping = new AbortController();
  /** Resolves when the store is back; null while it is not away. */
  #away: Promise<void> | null = null;

  constructor({
    store,
    performer,
    clock = realClock,
    checkOrigin = () => undefined,
    leaseMs = LEASE_MS,
    snapshotEvery = 500,
    limits,
    signing,
    trustedServers,
    quotas,
    concurrency = Infinity,
    worstCase = () => ({ tokens: null, costMicros: null }),
    onFault,
    onNotice,
  }: EngineOptions) {
    this.store = store;
    this.concurrency = concurrency;
    this.opened = openRunsOf(store.journal);
    this.feed = new Feed(this.opened, (work) => this.patiently(work));
    this.hints = new Hints(store, (runs) => this.feed.wake(runs));
    this.changes = new Changes(store, (work) => this.patiently(work));
    this.performer = performer;
    this.checkOrigin = checkOrigin;
    this.trustedServers = trustedServers;
    this.trustedKey = signing?.signer.key ?? null;
    // A clock of the caller's own is used as it is.
    this.clock = clock === realClock ? clockOf(() => this.lease) : clock;
    this.#onFault = onFault;
    this.#onNotice = onNotice;
    this.limits = runLimits(limits);
    this.worker = new Worker({
      journal: store.journal,
      performer,
      shared: patient(
        store.shared,
        (error) => this.untilBack(error),
        () => this.clock.busy?.(),
      ),
      clock: this.clock,
      snapshotEvery,
      limits: this.limits,
      store,
      ...(signing === undefined ? {} : { signing }),
      listeners: this.feed,
      holdsLease: () => this.lease.holds(),
      renewLease: () => this.lease.renew(),
      onTurn: (owned, events, previousHead) => this.#stored(owned, events, previousHead),
      onIdle: (owned) => this.#idle(owned),
      onLost: (run) => {
        this.toReclaim.add(run);
        this.#wakeWaiters(run);
      },
      untilBack: (error) => this.untilBack(error),
      onFault: (error) => (this.closing && isAway(error) ? undefined : this.fail(error)),
      onBroken: (run, cause) => this.#break(run, cause),
    });
    const worker = (): WorkerId => this.worker.id;
    this.lease = createLease(store.leases, worker, leaseMs, () => this.#rejoin());
    this.quotas = new Quotas({ store, worker, now: () => this.lease.now(), worstCase, given: quotas });
  }

  #stored(owned: OwnedRun, events: readonly Event[], previousHead: string): void {
    this.opened.get(owned.run)?.take(events, previousHead, owned);
    this.feed.publish(owned.run, events, previousHead, owned.head);
    this.changes.wake();
    if (owned.state !== null && owned.state.outcome !== null) this.quotas.ended(owned.state);
    this.onCommitted?.(owned, events);
  }

  /** Rejects after a fault or a close. */
  ensureOpen(): Promise<void> {
    if (this.fault !== null) return Promise.reject(this.fault);
    if (this.closing) return Promise.reject(new SluiceError('engine-closed', 'the engine is closed'));
    return this.lease.ready();
  }

  /** The run up to its last stored event. The events of a run that is open are not read again. */
  async read(run: RunId): Promise<ReadRun> {
    const { journal } = this.store;
    const opened = this.opened.get(run);
    if (opened === undefined) return readRun(journal, run);
    await opened.refresh();
    await demandRecorded(journal, run, 'read');
    return opened;
  }

  /** Resolves when the fact is stored, or with the reason why it was refused. */
  send(owned: OwnedRun, fact: Fact): Promise<Refusal | null> {
    return new Promise((done, failed) => this.worker.send(owned, { fact, done, failed }));
  }

  /** Resolves when the run has ended, is suspended, or left this process. Rejects when the engine stops. */
  untilIdle(run: RunId): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    this.#waiters.set(run, [...(this.#waiters.get(run) ?? []), waiter]);
    return waiter.promise;
  }

  notice(message: string, kind: NoticeKind = 'info'): void {
    this.#onNotice?.(message, kind);
  }

  /** This process does not continue the run. Every call that concerns it rejects with the error. */
  refuse(run: RunId, error: Error): void {
    this.broken.set(run, error);
    this.#onFault?.(error);
    this.#wakeWaiters(run);
  }

  fail(error: Error): void {
    this.fault ??= error;
    this.#onFault?.(error);
    this.#stop(error);
  }

  /** Resolves when the store answers again. Rejects while the engine closes, and if the error does not mean that the store is away. */
  async untilBack(cause: unknown): Promise<void> {
    if (!isAway(cause) || this.#stopping.signal.aborted) throw cause;
    await (this.#away ??= this.#waitForStore(cause).finally(() => (this.#away = null)));
  }

  /** Does work that may be repeated, as soon as the store can be reached. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        await this.untilBack(error);
      }
    }
  }

  /** Takes no further run and makes no further call. Resolves when those in flight have returned, or after this time. */
  async drain(ms: number): Promise<void> {
    this.draining = true;
    this.worker.drain();
    for (const end = performance.now() + ms; this.worker.inFlight > 0 && performance.now() < end;)
      await sleep(DRAIN_POLL_MS);
  }

  /** True while the store is away. */
  get isCut(): boolean {
    return this.#away !== null;
  }

  async #waitForStore(cause: SluiceError): Promise<void> {
    const { signal } = this.#stopping;
    this.timesAway += 1;
    this.notice(`${cause.message}; the runs of this worker wait until the store is back`);
    for (let pause = AWAY_MIN_MS; !signal.aborted; pause = Math.min(2 * pause, AWAY_MAX_MS)) {
      await sleep(pause, null, { signal }).catch(() => undefined);
      try {
        await this.lease.request();
        return this.notice('the store is back, and the runs go on');
      } catch (still) {
        if (!isAway(still) && !signal.aborted) return this.fail(still as Error);
      }
    }
  }

  /** Another worker has taken over the runs of this one and continues them. This one goes on with none of them. */
  #rejoin(): void {
    if (this.worker.runs.size > 0)
      this.notice('another worker has taken over the runs of this one, whose lease had ended; it continues them');
    this.worker.leave();
  }

  /** From now on no work waits for a store that is away. */
  beginClosing(): void {
    this.closing = true;
    this.#stopping.abort();
  }

  async close(): Promise<void> {
    this.hints.close();
    await this.quotas.returned();
    this.#stop(new SluiceError('engine-closed', 'the engine was closed'));
    // A lease that cannot be returned, for example on a full disk, ends by itself.
    await this.lease.resign().catch(() => undefined);
    await this.store.close();
  }

  #stop(reason: Error): void {
    this.#stopping.abort();
    this.worker.stop(reason);
    for (const waiter of [...this.#waiters.values()].flat()) waiter.reject(reason);
    this.#waiters.clear();
    this.feed.close();
    this.changes.close();
  }

  #idle(owned: OwnedRun): void {
    if (owned.inbox.length > 0 || owned.protecting > 0) return;
    if (owned.cancelWake === null) this.worker.drop(owned.run);
    this.#wakeWaiters(owned.run);
    if (owned.state?.outcome !== null) this.feed.end(owned.run);
  }

  /** The run ends at its last stored event, under a named error. If that breaks too, this process leaves the run alone. */
  #break(run: RunId, cause: Error): void {
    const message = `run \`${run}\` was stopped, because its state is inconsistent: ${cause.message}`;
    const help = 'Report it with the output of `sluice trace RUN --events`.';
    const error = new SluiceError('invariant-broken', message, help, cause);
    const { endBroken } = this;
    if (endBroken === null || this.ending.has(run)) return this.refuse(run, error);
    const ended = endBroken(run, cause.message).then(
      () => this.notice(`${message}. ${help}`),
      () => (this.closing || this.fault !== null ? undefined : this.refuse(run, error)),
    );
    this.ending.set(
      run,
      ended.finally(() => this.ending.delete(run)),
    );
  }

  #wakeWaiters(run: RunId): void {
    for (const { resolve } of this.#waiters.get(run) ?? []) resolve();
    this.#waiters.delete(run);
  }
}

export function unknownRun(run: RunId): SluiceError {
  return new SluiceError('run-not-found', `there is no run \`${run}\``, 'List the runs with `sluice runs`.');
}

/** True if another process has the run. A suspended run has no owner, so another one may have claimed it first. */
export function isTaken({ fault }: Host, error: unknown): boolean {
  return fault === null && error instanceof SluiceError && error.code === 'lease-lost';
}
