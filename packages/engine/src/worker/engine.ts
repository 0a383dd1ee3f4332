/** The engine: starts, answers, cancels and resumes runs, and reports on them. One engine has one worker and one lease. */
import { present } from '@sluice-internal/kernel/expr';
import { statusOf } from '@sluice-internal/kernel/core';
import type { Answer, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { openRun } from '../journal/open-run.ts';
import { reportOf } from '../report/report.ts';
import { approvals, approvalsPage } from './approvals.ts';
import { deliver, errorOf } from './deliver.ts';
import { forkRun } from './fork-run.ts';
import { grantBudget } from './grant-budget.ts';
import { Host, unknownRun } from './host.ts';
import { migrateRun } from './migrate-run.ts';
import { Notifier } from './notifier.ts';
import type { GivenAnswer } from '../ports/identity.ts';
import { isSuspended } from './owned-run.ts';
import type { OwnedRun } from './owned-run.ts';
import { Ownership, POLL_MS } from './ownership.ts';
import { refuseEmpty } from '../ports/options.ts';
import { plainJson } from '../ports/plain-json.ts';
import { NO_REASON } from './protected-fact.ts';
import { ownedElsewhere } from './worker.ts';
import { RUN_ID } from '../ports/run-id.ts';
import { Retention } from './retention.ts';
import { Starter } from './start.ts';
import { allOf } from '../ports/page.ts';
import type { PageRequest, RunFilter } from '../ports/ports.ts';
import type { Engine, EngineOptions, EventsOptions, Report } from '../ports/types.ts';

/** How often a run of another process is looked at, when no hint comes. */
const WAIT_MS = 1000;

const DRAIN_MS = 30_000;

export function createRuntime(options: EngineOptions): Engine {
  const host = new Host(options);
  const ownership = new Ownership(host, options.pickUp ?? true);
  const { retain, exportRun, onRemoved } = options;
  const retention = new Retention({
    store: host.store,
    notice: (message) => host.notice(message),
    now: () => host.clock.now(),
    ...present({ retain, exportRun, onRemoved }),
  });
  const notifier = new Notifier(host, (run, note) => deliver(host, ownership, run, { type: 'note', note }));
  const starter = new Starter(host, ownership, retention);
  const { journal, index } = host.store;
  const report = async (run: RunId): Promise<Report> => reportOf(await host.read(run));
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await notifier.drained();
    host.beginClosing();
    await ownership.stopPolling();
    await host.close();
  };
  return {
    start: (flow, given) => starter.start(flow, given),
    fork: (run, given) => forkRun(host, run, given),
    migrate: (run, flow, given) => migrateRun(host, ownership, run, { ...given, flow }),
    ...actsOf(host, ownership),
    repin: async (run, by, modules) => {
      await host.ensureOpen();
      const owned = await ownership.acquire(run);
      if (owned === null) throw ownedElsewhere(run);
      const refusal = await host.send(owned, { type: 'repin', by, modules });
      if (refusal !== null) throw errorOf(refusal);
    },
    resume: async (run, grant) => {
      await host.ensureOpen();
      if ((await index.find(run)) === null) throw unknownRun(run);
      await (grant === undefined ? ownership.resume(run) : grantBudget(host, ownership, run, grant));
    },
    get: report,
    read: (run) => host.ensureOpen().then(() => openRun(journal, run)),
    wait: (run) => wait(host, run),
    settled: async (run) => {
      await wait(host, run);
      return host.patiently(() => report(run));
    },
    events: ((run: RunId, { after = 0, live = true, deltas = false, signal }: AllEventsOptions = {}) =>
      host.feed.follow(journal, run, { after, live, deltas, signal })) as Engine['events'],
    feed: (options = {}) => host.changes.follow(options),
    ...listsOf(host),
    drain: (ms = DRAIN_MS) => host.drain(ms),
    health: () => ({
      runs: host.worker.runs.size,
      calls: host.worker.inFlight,
      store: host.fault !== null ? 'failed' : host.isCut ? 'away' : 'reached',
      lease: host.lease.holds(),
    }),
    close: () => (closing ??= close()),
  };
}

/** What people tell a run that may belong to another process. */
function actsOf(host: Host, ownership: Ownership): Pick<Engine, 'answer' | 'signal' | 'guide' | 'cancel'> {
  return {
    answer: async (id, answer) => {
      refuseEmpty('engine.answer', answer, 'bad-answer');
      const run = await runOfApproval(host, id);
      await deliver(host, ownership, run, { type: 'answer', id, answer: plainAnswer(answer) });
      return run;
    },
    signal: async (run, name, { data = null, by = 'signal' } = {}) =>
      deliver(host, ownership, run, { type: 'signal', name, data: plainJson(data), by }),
    guide: async (run, { text, agent = null, by }) => {
      requireGuidance(text, agent, by);
      await deliver(host, ownership, run, { type: 'guide', by, text, agent });
    },
    cancel: (run, by, why = NO_REASON) => deliver(host, ownership, run, { type: 'cancel', by, why }),
  };
}

function listsOf(host: Host): Pick<Engine, 'list' | 'approvals'> {
  const { index } = host.store;
  return {
    list: ((filter: RunFilter & PageRequest = {}) =>
      isPaged(filter) ? index.list(filter) : allOf((page) => index.list({ ...filter, ...page }))) as Engine['list'],
    approvals: ((of?: RunId | PageRequest) =>
      typeof of === 'object' ? approvalsPage(host, of) : approvals(host, of)) as Engine['approvals'],
  };
}

function isPaged({ cursor, limit }: PageRequest): boolean {
  return cursor !== undefined || limit !== undefined;
}

type AllEventsOptions = EventsOptions & { readonly deltas?: boolean };

/** A program in JavaScript can leave these out. */
function requireGuidance(text: unknown, agent: unknown, by: unknown): void {
  if (typeof by !== 'string' || by.trim() === '')
    throw new SluiceError('bad-guidance', 'the remark does not name the person who makes it', 'Pass `by`.');
  if (typeof text !== 'string' || text.trim() === '') throw new SluiceError('bad-guidance', 'the remark has no words');
  if (agent !== null && typeof agent !== 'string')
    throw new SluiceError('bad-guidance', '`agent` is the id of an agent');
}

/** Removes a proof that the caller gave: only the runtime may add one. The data is checked as the journal stores it. */
function plainAnswer(given: GivenAnswer & Pick<Answer, 'proof' | 'unproven'>): GivenAnswer {
  const { proof: _proof, unproven: _unproven, ...answer } = given;
  return answer.edit === undefined ? answer : { ...answer, edit: plainJson(answer.edit) };
}

/** The id of an approval contains the id of its run: `a_<run>.<number>`. Null if it has another form. */
export function runIn(approval: string): RunId | null {
  const run = approval.slice(2, approval.indexOf('.'));
  return approval.startsWith('a_') && RUN_ID.test(run) ? run : null;
}

async function runOfApproval({ store }: Host, id: string): Promise<RunId> {
  const run = runIn(id);
  if (run !== null && (await store.index.find(run)) !== null) return run;
  throw unknownApproval(id);
}

export function unknownApproval(id: string): SluiceError {
  return new SluiceError('approval-not-found', `there is no approval \`${id}\``, 'List them with `sluice approvals`.');
}

function waitMs({ pollMs = POLL_MS }: Host['store']): number {
  return Math.min(pollMs, WAIT_MS);
}

/** Resolves when the run has ended or is suspended, here or in another process. */
async function wait(host: Host, run: RunId): Promise<void> {
  const { worker, store, broken, toReclaim, clock } = host;
  for (;;) {
    await host.ensureOpen();
    if (broken.has(run)) throw broken.get(run) as Error;
    const here = worker.runs.get(run);
    const idle = here === undefined || isIdle(here, clock.virtual);
    if (here !== undefined && idle && !isSuspended(here)) return;
    if (idle) {
      // Another process may have continued the run.
      const entry = await host.patiently(() => store.index.find(run));
      if (entry === null) throw unknownRun(run);
      if (entry.status !== 'running' && entry.status !== 'pending') return;
      await host.hints.next(run, waitMs(store));
      continue;
    }
    await host.untilIdle(run);
    if (host.fault !== null) throw host.fault;
    if (!worker.runs.has(run) && !broken.has(run) && !toReclaim.has(run)) return;
  }
}

/** True if the run has ended, or only waits for a person. On a virtual clock a wait with an end passes at once. */
function isIdle({ state, inbox, protecting, storing, cancelWake }: OwnedRun, virtual: boolean): boolean {
  if (state === null || storing || inbox.length > 0 || protecting > 0) return false;
  return state.outcome !== null || (statusOf(state) === 'suspended' && (!virtual || cancelWake === null));
}
