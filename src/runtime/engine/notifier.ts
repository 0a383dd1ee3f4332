/**
 * Announces questions to the hooks of a flow, and records what came of it. A hook is called in the background: a hook that
 * fails or hangs never holds up the run. Also records that more questions wait than the flow allows.
 */
import type { Event, Question, RunId } from '../../ir/events.ts';
import type { NotifyHook, ReviewNote } from '../../ir/people.ts';
import { waitingOf } from '../report/waiting.ts';
import type { Host } from './host.ts';
import type { OwnedRun } from './owned-run.ts';

const ATTEMPTS_MAX = 4;
const BACKOFF_MS = 250;
const ATTEMPT_MS = 5_000;
/** How long closing waits for hooks. */
const DRAIN_MS = 10_000;

type Record = (run: RunId, note: ReviewNote) => Promise<void>;

export class Notifier {
  readonly #host: Host;
  readonly #record: Record;
  readonly #pending = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(host: Host, record: Record) {
    this.#host = host;
    this.#record = record;
    host.onCommitted = (owned, events) => this.#committed(owned, events);
  }

  /** Resolves when every hook was called and recorded, at the latest after some seconds. */
  async drained(): Promise<void> {
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
      const asked = askedBy(event, owned);
      if (asked === null) continue;
      for (const hook of notify ?? []) this.#track(this.#announce(owned, event, asked, hook));
      if (event.type === 'effect.requested') this.#track(this.#measure(owned, event.key));
    }
  }

  /** A record that cannot be stored, because the run has ended, is not needed. */
  #track(work: Promise<void>): void {
    const settled = work.catch(() => undefined).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }

  async #announce(owned: OwnedRun, event: Event, { key, question }: Asked, hook: NotifyHook): Promise<void> {
    const { performer } = this.#host;
    const { program, state, run } = owned;
    const waiting = state === null ? undefined : waitingOf(program, state).find(({ id }) => id === question.id);
    if (performer.notify === undefined || waiting === undefined) return;
    const type = event.type === 'question.escalated' ? 'question.escalated' : 'question.asked';
    const body = JSON.stringify({ type, flow: program.flow.id, run, at: event.at, question: waiting });
    const documentDir = state?.origin.pins?.documentDir;
    const to = 'webhook' in hook ? hook.webhook : (hook.command[0] ?? '');
    const id = `${question.id}.${event.seq}`;
    let problem = '';
    for (let attempt = 1; attempt <= ATTEMPTS_MAX && !this.#stop.signal.aborted; attempt++) {
      if (attempt > 1) await pause(BACKOFF_MS * 2 ** (attempt - 2), this.#stop.signal);
      try {
        const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ATTEMPT_MS)]);
        await performer.notify({ hook, id, body, documentDir, signal });
        return await this.#record(run, { type: 'question.notified', key, to, attempts: attempt });
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
    }
    this.#host.notice(`the hook \`${to}\` of run \`${run}\` failed: ${problem}`);
    await this.#record(run, { type: 'question.notified', key, to, attempts: ATTEMPTS_MAX, problem });
  }

  /** Measures the queue when a question joins it. */
  async #measure({ program, run }: OwnedRun, key: string): Promise<void> {
    const limits = program.flow.reviewQueue;
    if (limits === undefined) return;
    const waiting = await this.#host.store.roster.list({ status: ['suspended'] });
    const others = waiting.filter((entry) => entry.run !== run);
    const open = others.length + 1;
    const ageMs = Math.max(0, ...others.map(({ updatedAt }) => this.#host.clock.now() - updatedAt));
    if (open <= (limits.open ?? Infinity) && ageMs <= (limits.ageMs ?? Infinity)) return;
    await this.#record(run, { type: 'review.saturated', key, open, ageMs });
  }
}

interface Asked {
  readonly key: string;
  readonly question: Question;
}

/** The question that an event asks, or asks of more people. */
function askedBy(event: Event, { state }: OwnedRun): Asked | null {
  if (event.type === 'effect.requested' && event.question !== undefined)
    return { key: event.key, question: event.question };
  if (event.type !== 'question.escalated') return null;
  const question = state?.pending.get(event.key)?.question ?? null;
  return question === null ? null : { key: event.key, question };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
