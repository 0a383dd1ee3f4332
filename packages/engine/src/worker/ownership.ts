/** Claims runs for this process, brings them into memory, and releases those that it does not continue. */
import { outstanding, settle, statusOf } from '@sluice-internal/kernel/core';
import type { RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { readRun, type OpenRun } from '../journal/open-run.ts';
import { storedProgram } from '../journal/stored-graph.ts';
import { broken as brokenRun, demandAgreement, demandRecorded, loadVerified, verifyRest } from '../journal/verify.ts';
import type { AllVerified, VerifiedRun } from '../journal/verify.ts';
import type { Letter, MailFact, StoredRun } from '../ports/ports.ts';
import { isAway } from './away.ts';
import { allOf, eachOf } from '../ports/page.ts';
import { isTaken, unknownRun } from './host.ts';
import type { Host } from './host.ts';
import { revokedKeys, verifiedAgain } from '../ports/identity.ts';
import { isSuspended, ownedFrom, restoreRun } from './owned-run.ts';
import type { OwnedRun } from './owned-run.ts';
import { JumpDetector } from '../ports/run-time.ts';
import { spentIn } from '../limits/quotas.ts';

export const POLL_MS = 200;
const CLAIM_MAX = 100;
/** The number of times that a run is loaded while other processes continue it. */
const TRIES_MAX = 5;
const ROOM_POLL_MS = 2000;
const TIMERS_POLL_MS = 1000;

export class Ownership {
  readonly #host: Host;
  readonly #pickUp: boolean | 'timers';
  readonly #detector: JumpDetector;
  readonly #timer: NodeJS.Timeout;
  #polling: Promise<void>;
  /** Runs for which a quota has no room, and when to try again. */
  readonly #retryAt = new Map<RunId, number>();
  /** Runs that this engine must not continue. It claims none of them again, so that other processes can. */
  readonly #leftToOthers = new Set<RunId>();
  /** Verifications of runs that already work. */
  readonly #verifying = new Set<Promise<void>>();
  /** Runs whose waits are over, with the end of the wait. Another process makes the calls after the wait. */
  readonly #leftDue = new Map<RunId, number>();
  /** The time of the next search for waits that are over. */
  #timersAt: number;
  #seenAway = 0;

  /** `pickUp`: also claims unfinished runs that no live process owns. */
  constructor(host: Host, pickUp: boolean | 'timers') {
    this.#host = host;
    this.#pickUp = pickUp;
    this.#timersAt = host.clock.now() + TIMERS_POLL_MS;
    this.#detector = new JumpDetector(host.clock);
    this.#polling = host.lease.ready().then(
      () => this.#poll(),
      () => undefined,
    );
    const poll = (): void => void (this.#polling = this.#polling.then(() => this.#poll()));
    this.#timer = setInterval(poll, host.store.pollMs ?? POLL_MS);
    this.#timer.unref();
    host.hints.onMail = poll;
    host.endBroken = (run, why) => this.#endBroken(run, why);
  }

  /** Claims a run and continues it. Null when another live process owns it. */
  async resume(run: RunId): Promise<OwnedRun | null> {
    const owned = await this.acquire(run);
    if (owned !== null) this.#host.worker.begin(owned);
    return owned;
  }

  /**
   * Claims a run and loads it, but performs nothing yet. Null when another live process owns it. Throws if the quota of its
   * tenant has no room for it, its personal data cannot be read, or this engine must not continue it. A run that is about to
   * be cancelled needs neither room nor personal data. A run that does not verify stays unowned, and is not claimed again.
   */
  async acquire(run: RunId, { checks = true }: { readonly checks?: boolean } = {}): Promise<OwnedRun | null> {
    const { worker, store, broken } = this.#host;
    for (let tries = 1; ; tries += 1) {
      await this.#host.ending.get(run);
      const here = worker.runs.get(run);
      if (here !== undefined && !isSuspended(here)) return here;
      if (broken.has(run)) throw broken.get(run) as Error;
      const claimed = await store.leases.claim(worker.id, { run });
      if (!claimed.includes(run)) return null;
      const load = { run, isOutdated: false };
      worker.loads.add(load);
      try {
        const loaded = await this.#restoreVerified(run);
        this.#checkOrigin(loaded.owned);
        if (checks) await this.#check(loaded.owned);
        if (!load.isOutdated) return await this.#adopt(loaded);
      } catch (error) {
        if (await this.#isOutdated(load, error, tries)) continue;
        if (hasCode(error, 'chain-broken')) this.#host.refuse(run, error);
        await this.#giveBack(run);
        throw error;
      } finally {
        worker.loads.delete(load);
      }
    }
  }

  /** True if a commit during the load can explain why the rows do not agree. */
  async #isOutdated(load: { run: RunId; isOutdated: boolean }, error: unknown, tries: number): Promise<boolean> {
    if (load.isOutdated || this.#host.worker.runs.get(load.run)?.storing === true) return true;
    return tries < TRIES_MAX && this.#isLost(load.run, error);
  }

  /** True if a run that did not verify has another owner now: this process was paused for longer than its lease. */
  async #isLost(run: RunId, error: unknown): Promise<boolean> {
    if (!hasCode(error, 'chain-broken')) return false;
    const { store, worker } = this.#host;
    const entry = await store.index.find(run).catch(() => null);
    return entry !== null && entry.owner !== worker.id;
  }

  /** Ends a run of this process as it is stored: the state in memory is wrong. Nothing of it is performed again. */
  async #endBroken(run: RunId, why: string): Promise<void> {
    const { worker, store } = this.#host;
    const { owned, verified } = await this.#restoreVerified(run);
    if (verified.rest !== null) await verifyRest(store.journal, verified);
    owned.begun = true;
    owned.toResume = false;
    worker.drop(run);
    worker.adopt(owned);
    await this.#host.send(owned, { type: 'break', why });
  }

  /** Takes a loaded run into memory, unless memory already has a copy with more events, or one that works. */
  async #adopt({ owned, verified }: LoadedRun): Promise<OwnedRun> {
    const { run } = owned;
    const { worker } = this.#host;
    const here = worker.runs.get(run);
    const isNewer = here !== undefined && (here.seq >= owned.seq || !isSuspended(here));
    if (!isNewer) {
      worker.drop(run);
      if (owned.state?.outcome === null) worker.adopt(owned);
      if (verified.rest !== null) this.#verifyMeanwhile(owned, verified);
    }
    const adopted = isNewer ? here : owned;
    // A suspended run has no owner, so that every process can answer it.
    if (isSuspended(adopted)) await this.#giveBack(run);
    return adopted;
  }

  /**
   * Releases a claimed run, but not one that works in this process: its next events would be refused, and it would be loaded again
   * and repeat its open calls.
   */
  async #giveBack(run: RunId): Promise<void> {
    const { store, worker } = this.#host;
    const here = worker.runs.get(run);
    if (here === undefined || isSuspended(here)) await store.leases.release(worker.id, [run]);
  }

  #checkOrigin({ run, state }: OwnedRun): void {
    if (state !== null && state.outcome === null) this.#host.checkOrigin(run, state.origin);
  }

  async #check(owned: OwnedRun): Promise<void> {
    const { state, run, program } = owned;
    if (state === null || state.outcome !== null) return;
    const { quotas, performer } = this.#host;
    const { flow } = program;
    const { origin } = state;
    await performer.checkKey?.(flow, origin.pins?.tokensOf ?? run, origin.pins?.documentDir);
    // A suspended run still has its reservation.
    if (!isSuspended(owned)) await quotas.resume({ run, flow, origin, spent: spentIn(state) });
  }

  /** Throws `chain-broken` if the run does not verify. */
  async #restoreVerified(run: RunId): Promise<LoadedRun> {
    const { store, opened } = this.#host;
    const open = opened.get(run);
    if (open !== undefined) return this.#restoreOpen(open);
    const verified = await loadVerified(store.journal, run);
    if (verified === null) throw unknownRun(run);
    const owned = restored(run, verified.stored);
    const { state } = owned;
    if (state !== null && state.run !== run) throw brokenRun(run, `its snapshot is that of run \`${state.run}\``);
    // Only a run that has calls to perform goes on before all of it is verified.
    if (state === null || statusOf(state) !== 'running') await verifyRest(store.journal, verified);
    await this.#demandAgreement(verified, owned);
    return { owned, verified };
  }

  /** The events of a run that is open are known. Its rows may have been changed since they were read. */
  async #restoreOpen(open: OpenRun): Promise<LoadedRun> {
    const { run, links } = open;
    if (open.isJustRead) {
      open.isJustRead = false;
      await demandRecorded(this.#host.store.journal, run, 'continue');
      await open.refresh();
    } else await open.verify();
    const owned = ownedFrom(open);
    const verified = { run, links, rest: null };
    await this.#demandAgreement(verified, owned);
    return { owned, verified };
  }

  async #demandAgreement(verified: LoadedRun['verified'], { program: { flow }, state }: OwnedRun): Promise<void> {
    const { store, trustedKey: trusted } = this.#host;
    if (state !== null) await demandAgreement(store, verified, { flow, state, trusted });
  }

  /** Verifies the earliest events of a long run while its calls are performed. The run stores nothing before that is done. */
  #verifyMeanwhile(owned: OwnedRun, verified: VerifiedRun): void {
    owned.verifying = true;
    const idle = this.#host.clock.busy?.();
    const work = this.#verifyRest(owned, verified)
      .catch((error: Error) => this.#failed(error))
      .finally(() => {
        idle?.();
        this.#verifying.delete(work);
      });
    this.#verifying.add(work);
  }

  async #verifyRest(owned: OwnedRun, verified: VerifiedRun): Promise<void> {
    const { store, worker } = this.#host;
    const { run } = owned;
    const isHere = (): boolean => !this.#isStopped() && worker.runs.get(run) === owned;
    const goesOn = async (): Promise<boolean> => {
      await new Promise((resolve) => setImmediate(resolve));
      return isHere();
    };
    try {
      await verifyRest(store.journal, verified, goesOn);
      if (verified.rest !== null) return worker.reject(owned);
      await this.#demandAgreement(verified, owned);
      worker.verified(owned);
    } catch (error) {
      if (!isHere() || (await this.#isLost(run, error))) return worker.reject(owned);
      worker.reject(owned, error as Error);
      if (!hasCode(error, 'chain-broken')) {
        this.#host.toReclaim.add(run);
        return this.#failed(error);
      }
      this.#host.refuse(run, error);
      await store.leases.release(worker.id, [run]);
    }
  }

  /** Releases a run that was acquired and not continued. */
  async release(owned: OwnedRun): Promise<void> {
    const { run, begun } = owned;
    const { worker, store } = this.#host;
    // Another copy may have been loaded since.
    if (begun || (worker.runs.get(run) ?? owned) !== owned) return;
    worker.drop(run);
    await store.leases.release(worker.id, [run]);
  }

  async stopPolling(): Promise<void> {
    clearInterval(this.#timer);
    this.#host.hints.onMail = () => undefined;
    await this.#polling;
    await Promise.all(this.#verifying);
  }

  async #poll(): Promise<void> {
    const { toReclaim } = this.#host;
    if (this.#isStopped() || this.#host.isCut) return;
    this.#followClock();
    try {
      await this.#findOwned();
      await this.#takeMail();
      if (this.#pickUp === 'timers') await this.#endWaits();
      else if (this.#pickUp && !this.#host.draining && this.#room() > 0) await this.#pickRuns();
      for (const run of toReclaim) await this.#reclaim(run);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** A run that waits was claimed for its mail, which is taken while this process owns it. */
  async #pickRuns(): Promise<void> {
    const { store, worker, toReclaim } = this.#host;
    const found = await store.leases.claim(worker.id, { limit: this.#room(), except: [...this.#leftToOthers] });
    for (const run of found) toReclaim.add(run);
    if (found.length > 0) await this.#takeMail();
  }

  /** How many runs more this process takes by itself. Runs that wait do not count. */
  #room(): number {
    const { worker, concurrency } = this.#host;
    if (concurrency === Infinity) return CLAIM_MAX;
    const working = [...worker.runs.values()].filter((owned) => !isSuspended(owned)).length;
    return Math.max(0, Math.min(CLAIM_MAX, concurrency - working - this.#host.toReclaim.size));
  }

  /** When the answer to a claim or a release was lost, this process may own runs that it does not have in memory. */
  async #findOwned(): Promise<void> {
    const { store, worker, toReclaim, timesAway } = this.#host;
    if (this.#seenAway === timesAway) return;
    const open = { status: ['pending', 'running', 'suspended'] } as const;
    for await (const { run, owner } of eachOf((page) => store.index.list({ ...page, ...open })))
      if (owner === worker.id && !worker.runs.has(run)) toReclaim.add(run);
    this.#seenAway = timesAway;
  }

  /** A store that is away is polled again when it is back. */
  #failed(cause: unknown): void {
    if (this.#isStopped()) return;
    this.#host.untilBack(cause).catch((fault: Error) => this.#host.fail(fault));
  }

  /** Ends waits and questions of other runs whose time is over. */
  async #endWaits(): Promise<void> {
    const { store, worker, clock } = this.#host;
    if (clock.now() < this.#timersAt) return;
    this.#timersAt = clock.now() + TIMERS_POLL_MS;
    const over = { status: ['suspended'], due: clock.now() } as const;
    for (const { run, due } of await allOf((page) => store.index.list({ ...over, ...page }))) {
      if (due === null || worker.runs.has(run) || this.#leftDue.get(run) === due) continue;
      try {
        if (await this.#endsAlone(run)) await this.#tick(run);
        else this.#leftDue.set(run, due);
      } catch (error) {
        if (!(error instanceof SluiceError) || isAway(error)) throw error;
        this.#leftDue.set(run, due);
      }
    }
  }

  /** False if a call follows the wait: its time must not begin before a process makes it. */
  async #endsAlone(run: RunId): Promise<boolean> {
    const { store, clock } = this.#host;
    const { program, state } = await readRun(store.journal, run);
    const { state: after } = settle(program, state, [{ type: 'tick' }], clock.now());
    return after !== null && (after.outcome !== null || outstanding(program, after).commands.length === 0);
  }

  async #tick(run: RunId): Promise<void> {
    const owned = await this.acquire(run, { checks: false });
    if (owned === null) return;
    owned.passing = true;
    await this.#host.send(owned, { type: 'tick' });
    await this.release(owned);
  }

  /** Waits are derived again after a jump of the system clock. */
  #followClock(): void {
    const jump = this.#detector.jumpedMs();
    if (jump === 0) return;
    const seconds = Math.round(Math.abs(jump) / 1000);
    this.#host.notice(
      `the system clock jumped ${jump > 0 ? 'forward' : 'back'} by ${seconds} s; running time limits are not affected`,
    );
    this.#host.worker.clockJumped();
  }

  async #reclaim(run: RunId): Promise<void> {
    const { store, worker, toReclaim, broken } = this.#host;
    if (this.#waitsForRoom(run)) return;
    try {
      const owned = await this.resume(run);
      if (owned !== null || (await store.index.find(run))?.owner !== worker.id) toReclaim.delete(run);
    } catch (error) {
      if (isAway(error)) throw error;
      // One run that cannot continue does not stop the others. Without room in a quota it is tried again later.
      toReclaim.delete(run);
      if (isOverQuota(error)) this.#waitForRoom(run, error);
      else if (lacksKey(error)) this.#host.refuse(run, error);
      else if (isForOthers(error)) this.#leaveToOthers(run, error);
      else if (!broken.has(run)) throw error;
    }
  }

  async #takeMail(): Promise<void> {
    const { store, worker } = this.#host;
    let letters = await store.mail.take(worker.id);
    for (let done: number[] = []; letters.length > 0; done = []) {
      for (const letter of letters) if (await this.#receive(letter)) done.push(letter.id);
      if (done.length === 0) return;
      letters = await store.mail.take(worker.id, done);
    }
  }

  /** True if the letter is done: its fact is stored or refused. */
  async #receive({ run, fact }: Letter): Promise<boolean> {
    if (fact === null) {
      const why = 'its row in the table `mail` was changed or forged';
      this.#host.notice(`a message to run \`${run}\` was refused: ${why}`, 'attack');
      return true;
    }
    // A run that cannot continue keeps its mail.
    if (this.#host.broken.has(run)) return false;
    const owned = await this.#acquireForMail(run, fact);
    if (owned === null) return false;
    try {
      const { state } = owned;
      if (state?.outcome === null) await this.#host.send(owned, await this.#verified(owned, state, fact));
    } catch (error) {
      if (isTaken(this.#host, error)) return false;
      throw error;
    }
    this.#host.worker.begin(owned);
    return true;
  }

  /** Mail stays until the quota has room for its run. */
  async #acquireForMail(run: RunId, { type }: MailFact): Promise<OwnedRun | null> {
    if (type !== 'cancel' && this.#waitsForRoom(run)) return null;
    try {
      return await this.acquire(run, { checks: type !== 'cancel' });
    } catch (error) {
      if (lacksKey(error)) this.#host.refuse(run, error);
      else if (isForOthers(error)) this.#leaveToOthers(run, error);
      else if (!isOverQuota(error)) throw error;
      else this.#waitForRoom(run, error);
      return null;
    }
  }

  #leaveToOthers(run: RunId, { message, help = '' }: SluiceError): void {
    this.#leftToOthers.add(run);
    this.#host.notice(`${message}. ${help}`);
  }

  #waitsForRoom(run: RunId): boolean {
    return performance.now() < (this.#retryAt.get(run) ?? 0);
  }

  #waitForRoom(run: RunId, { message }: Error): void {
    if (!this.#retryAt.has(run)) this.#host.notice(message);
    this.#retryAt.set(run, performance.now() + ROOM_POLL_MS);
  }

  /** A row of the table `mail` is no proof, so a signature is verified again. */
  async #verified({ program }: OwnedRun, state: RunState, fact: MailFact): Promise<MailFact> {
    if (fact.type !== 'answer') return fact;
    const { flow } = program;
    const { clock, store, trustedServers } = this.#host;
    const revoked = await revokedKeys(store.shared);
    const answered = { flow, state, reach: store.reach, trustedServers, revoked };
    return { ...fact, answer: verifiedAgain(answered, fact.id, fact.answer, clock.now()) };
  }

  #isStopped(): boolean {
    return this.#host.closing || this.#host.fault !== null;
  }
}

interface LoadedRun {
  readonly owned: OwnedRun;
  readonly verified: VerifiedRun | AllVerified;
}

/** Another process has what the run needs: its script, or its folder. */
function isForOthers(error: unknown): error is SluiceError {
  return hasCode(error, 'scripted-run') || hasCode(error, 'not-here');
}

function isOverQuota(error: unknown): error is SluiceError {
  return hasCode(error, 'quota-exceeded');
}

/** Events with valid hashes that do not follow from one another were not written by the engine. */
function restored(run: RunId, stored: StoredRun): OwnedRun {
  try {
    return restoreRun(run, stored, storedProgram(stored.flow));
  } catch (error) {
    throw error instanceof SluiceError ? error : brokenRun(run, (error as Error).message);
  }
}

function hasCode(error: unknown, code: SluiceError['code']): error is SluiceError {
  return error instanceof SluiceError && error.code === code;
}

/** A key is missing: of the personal data of the run, or of its events. */
function lacksKey(error: unknown): error is SluiceError {
  return hasCode(error, 'pii-key') || hasCode(error, 'journal-key');
}
