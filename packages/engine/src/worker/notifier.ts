/**
 * Announces questions, alerts and tickets to the hooks of a flow, and records the result. A hook is called in the
 * background: a hook that fails or hangs never delays the run. An announcement that was not recorded, because its process
 * died, is made by the next process, under the same id. Also records that more questions wait than the flow allows.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  CompiledFlow,
  ErrorRecord,
  Event,
  Notice,
  NotifyHook,
  Question,
  ReviewNote,
  RunId,
  RunState,
} from '@sluice-internal/kernel/ir';
import { setTimeout as sleep } from 'node:timers/promises';
import { update, valueAt } from '../ports/cells.ts';
import { allOf } from '../ports/page.ts';
import type { RunEntry } from '../ports/ports.ts';
import type { Waiting } from '../ports/types.ts';
import type { ReadRun } from '../journal/open-run.ts';
import { decisionsOf } from '../ports/decisions.ts';
import type { MadeDecision } from '../ports/decisions.ts';
import { questionsOf, waitingOf } from '../report/waiting.ts';
import type { Host } from './host.ts';
import type { OwnedRun } from './owned-run.ts';

const ATTEMPTS_MAX = 4;
const BACKOFF_MS = 250;
const ATTEMPT_MS = 5_000;
/** A process records its announcement of a question within this time. */
const GRACE_MS = 30_000;
/** The search for failed runs whose alert or ticket was not announced: at most this many runs, and not older than this. */
const FAILED_MAX = 1000;
const FAILED_MS = 86_400_000;
/** The store keeps the time up to which all questions are announced, by tenant. */
const ANNOUNCED_PREFIX = 'notify.announced:';
/** Alerts and tickets that were announced; a run that has ended takes no record. */
const NOTICE_PREFIX = 'notify.notice:';
/** The time that closing waits for hooks. */
const DRAIN_MS = 10_000;

type Record = (run: RunId, note: ReviewNote) => Promise<void>;

export class Notifier {
  readonly #host: Host;
  readonly #record: Record;
  readonly #pending = new Set<Promise<void>>();
  /** Alerts and tickets that are being announced. */
  readonly #announcing = new Set<string>();
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout | null;

  constructor(host: Host, record: Record) {
    this.#host = host;
    this.#record = record;
    host.onCommitted = (owned, events) => this.#committed(owned, events);
    const sweep = (): void => this.#track(this.#announceLost());
    // Under a script nothing is announced.
    this.#timer = host.performer.notify === undefined ? null : setInterval(sweep, GRACE_MS);
    this.#timer?.unref();
    if (this.#timer !== null) sweep();
  }

  /** Resolves when every hook was called and recorded, at the latest after some seconds. */
  async drained(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#pending.size === 0) return;
    const late = AbortSignal.timeout(DRAIN_MS);
    const isLate = new Promise((resolve) => late.addEventListener('abort', resolve, { once: true }));
    await Promise.race([Promise.allSettled(this.#pending), isLate]);
    this.#stop.abort();
  }

  #committed(owned: OwnedRun, events: readonly Event[]): void {
    const { notify, reviewQueue } = owned.program.flow;
    if (notify === undefined && reviewQueue === undefined) return;
    for (const event of events) {
      for (const asked of askedBy(event, owned.state))
        for (const hook of notify ?? []) this.#track(this.#announce(owned, event, asked, hook));
      if (notify !== undefined && noticeOf(owned.program.flow, event) !== null)
        this.#track(this.#announceNotices(owned.run));
      if (event.type === 'effect.requested' && event.question !== undefined)
        this.#track(this.#measure(owned, event.key));
    }
  }

  /**
   * Announces questions, alerts and tickets of other processes. Recent ones are left out, because their own process may
   * still announce them.
   */
  async #announceLost(): Promise<void> {
    const { store, clock } = this.#host;
    await this.#host.ensureOpen();
    const until = clock.now() - GRACE_MS;
    // This engine may see the runs of one tenant only.
    for (const tenant of [null, ...(await allOf((page) => store.index.tenants(page)))]) {
      const key = `${ANNOUNCED_PREFIX}${tenant ?? ''}`;
      const since = Number((await valueAt(store.shared, key)) ?? 0);
      const due = await this.#changed(tenant, since, until);
      for (const ofFlow of Map.groupBy(due, ({ hash }) => hash).values()) await this.#announceAll(ofFlow);
      if (this.#stop.signal.aborted) return;
      if (due.length > 0) await update(store.shared, key, () => [until, null]);
    }
  }

  /** Runs that wait, and runs that failed, whose last change is in this time. */
  async #changed(tenant: string | null, since: number, until: number): Promise<readonly RunEntry[]> {
    const { index } = this.#host.store;
    const time = { tenant, changedSince: since, changedUntil: until };
    const waiting = await allOf((page) => index.list({ ...time, ...page, status: ['suspended'] }));
    const recent = { ...time, changedSince: Math.max(since, until - FAILED_MS + 1), limit: FAILED_MAX };
    return [...waiting, ...(await index.list({ ...recent, status: ['failed'] })).items];
  }

  /** Runs of one flow. If the flow has no hooks, only the first run is read. */
  async #announceAll(entries: readonly RunEntry[]): Promise<void> {
    for (const { run } of entries) {
      const read = await this.#host.read(run).catch(() => null);
      // The other runs are announced even if one cannot be read.
      if (read === null) continue;
      if (read.program.flow.notify === undefined || this.#stop.signal.aborted) return;
      for (const { event, asked, hook } of unannounced(read)) await this.#announce(read, event, asked, hook);
      await this.#announceNotices(run, read);
    }
  }

  /** Announces the alerts and tickets of a run that were not announced before. */
  async #announceNotices(run: RunId, known?: ReadRun): Promise<void> {
    const { performer } = this.#host;
    if (performer.notify === undefined) return;
    const read = known ?? (await this.#host.read(run));
    const { flow } = read.program;
    for (const event of read.events) {
      const notice = noticeOf(flow, event);
      if (notice === null) continue;
      const body = JSON.stringify({ ...notice, flow: flow.id, run, at: event.at, error: failureIn(read) });
      for (const hook of flow.notify ?? []) await this.#announceOnce(read, hook, `${run}.${event.seq}`, body);
    }
  }

  async #announceOnce(read: ReadRun, hook: NotifyHook, id: string, body: string): Promise<void> {
    const { shared } = this.#host.store;
    const key = `${NOTICE_PREFIX}${id}:${receiverOf(hook)}`;
    if (this.#announcing.has(key)) return;
    this.#announcing.add(key);
    try {
      if ((await valueAt(shared, key)) === true) return;
      const sent = await this.#send(read, hook, id, body);
      // Null: closing came first, and the next process announces it.
      if (sent !== null) await update(shared, key, () => [true, null]);
    } finally {
      this.#announcing.delete(key);
    }
  }

  /** A record that cannot be stored, because the run has ended, is not needed. */
  #track(work: Promise<void>): void {
    const settled = work.catch(() => undefined).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }

  async #announce(of: Announced, event: Event, { key, question }: Asked, hook: NotifyHook): Promise<void> {
    const { performer } = this.#host;
    const { program, state } = of;
    const run = state?.run ?? '';
    const asked = state === null ? undefined : questionsOf(program, state).find(({ id }) => id === question.id);
    if (performer.notify === undefined || asked === undefined) return;
    const waiting = await this.#packed(run, asked);
    const type = event.type === 'question.escalated' ? 'question.escalated' : 'question.asked';
    const body = JSON.stringify({ type, flow: program.flow.id, run, at: event.at, question: waiting });
    const sent = await this.#send(of, hook, `${question.id}.${event.seq}`, body);
    // Closing came first. The next process announces the question.
    if (sent === null) return;
    await this.#record(run, { type: 'question.notified', key, to: receiverOf(hook), ...sent });
  }

  /** The question with its packet. It may have been answered in the meantime; then it has none. */
  async #packed(run: RunId, asked: Omit<Waiting, 'packet'>): Promise<Omit<Waiting, 'packet'>> {
    const read = await this.#host.read(run).catch(() => null);
    return (read === null ? undefined : waitingOf(read).find(({ id }) => id === asked.id)) ?? asked;
  }

  /** Calls a hook, several times if it fails. Null if closing came first. */
  async #send(
    { state }: Announced,
    hook: NotifyHook,
    id: string,
    body: string,
  ): Promise<{ readonly attempts: number; readonly problem?: string } | null> {
    const documentDir = state?.origin.pins?.documentDir;
    let problem = '';
    for (let attempt = 1; attempt <= ATTEMPTS_MAX && !this.#stop.signal.aborted; attempt++) {
      const { signal: stop } = this.#stop;
      if (attempt > 1) await sleep(BACKOFF_MS * 2 ** (attempt - 2), null, { signal: stop }).catch(() => null);
      try {
        const signal = AbortSignal.any([stop, AbortSignal.timeout(ATTEMPT_MS)]);
        await this.#host.performer.notify?.({ hook, id, body, documentDir, signal });
        return { attempts: attempt };
      } catch (error) {
        problem = reasonOf(error);
      }
    }
    if (this.#stop.signal.aborted) return null;
    this.#host.notice(`the hook \`${receiverOf(hook)}\` of run \`${state?.run ?? ''}\` failed: ${problem}`);
    return { attempts: ATTEMPTS_MAX, problem };
  }

  /** Measures the queue when a question joins it. */
  async #measure({ program, run }: OwnedRun, key: string): Promise<void> {
    const limits = program.flow.reviewQueue;
    if (limits === undefined) return;
    const others = await this.#host.store.index.waiting({ except: run });
    const open = others.count + 1;
    const ageMs = others.since === null ? 0 : Math.max(0, this.#host.clock.now() - others.since);
    if (open <= (limits.open ?? Infinity) && ageMs <= (limits.ageMs ?? Infinity)) return;
    await this.#record(run, { type: 'review.saturated', key, open, ageMs });
  }
}

interface Asked {
  readonly key: string;
  readonly question: Question;
}

type Announced = Pick<OwnedRun, 'program' | 'state'>;

/** The alert or the ticket of an event, as its message begins. */
function noticeOf(flow: CompiledFlow, event: Event): { readonly type: Notice; readonly decision: MadeDecision } | null {
  const [decision] = decisionsOf(flow, [event]);
  return decision?.notice === undefined ? null : { type: decision.notice, decision };
}

/** The failure behind the end of the run, or behind its undo. */
function failureIn({ state }: ReadRun): Json {
  const { class: kind, type, message, node } = state.outcome?.error ?? threadError(state) ?? {};
  return { class: kind ?? null, type: type ?? null, message: message ?? null, node: node ?? null };
}

function threadError({ threads }: RunState): Partial<ErrorRecord> | null {
  return (threads.get('0')?.slots['error'] ?? null) as Partial<ErrorRecord> | null;
}

/** The open questions that an event asks, asks of more people, or asks again under a new id. */
function askedBy(event: Event, state: RunState | null): readonly Asked[] {
  const keys =
    event.type === 'run.forked' && event.moved === true
      ? [...(state?.pending.keys() ?? [])]
      : event.type === 'effect.requested' || event.type === 'question.escalated'
        ? [event.key]
        : [];
  return keys.flatMap((key) => {
    const question = state?.pending.get(key)?.question ?? null;
    return question === null ? [] : [{ key, question }];
  });
}

/** Announcements of open questions that are not recorded yet. A hook that failed finally has a record too. */
function unannounced({
  program,
  state,
  events,
}: ReadRun): readonly { readonly event: Event; readonly asked: Asked; readonly hook: NotifyHook }[] {
  return (program.flow.notify ?? []).flatMap((hook) => {
    const records = (key: string): number =>
      events.filter((each) => each.type === 'question.notified' && each.key === key && each.to === receiverOf(hook))
        .length;
    const due = events.flatMap((event) => askedBy(event, state).map((asked) => ({ event, asked, hook })));
    const counts = new Map<string, number>();
    return due.filter(({ asked: { key } }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return (counts.get(key) ?? 0) > records(key);
    });
  });
}

/** The address or the program. */
function receiverOf(hook: NotifyHook): string {
  return 'webhook' in hook ? hook.webhook : (hook.command[0] ?? '');
}
