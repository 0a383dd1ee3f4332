/**
 * The engine: runs in, reports out. It owns one worker with one lease, brings runs into memory when there is something
 * to do for them, and lets go of those that ended or wait for somebody.
 */
import { randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { statusOf } from '../../core/outstanding.ts';
import { settle } from '../../core/settle.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Fact, Origin, Refusal, RunId } from '../../ir/events.ts';
import { realClock } from './clock.ts';
import type { Engine, EngineOptions, EventsOptions, Report, StartOptions } from './types.ts';
import { isErrorCode } from '../errors.ts';
import { createFeed } from './feed.ts';
import { createPrograms, hold, restore } from './owned-run.ts';
import type { Held } from './owned-run.ts';
import { createLease } from './lease.ts';
import { readRun } from '../journal/read.ts';
import { reportOf, waitingOf } from '../report/report.ts';
import { SluiceError } from '../errors.ts';
import { plainJson } from './plain-json.ts';
import { Worker } from './worker.ts';

const RUN_ID = /^[A-Za-z0-9_-]{1,80}$/;
const POLL_MS = 200;
const CLAIM_MAX = 100;

export function createRuntime(options: EngineOptions): Engine {
  const { store, performer, clock = realClock, pickUp = true, leaseMs = 10_000, snapshotEvery = 500 } = options;
  const programOf = createPrograms();
  const feed = createFeed();
  const settledBy = new Map<RunId, (() => void)[]>();
  /** Runs that this process let go of, or could not take up, while its lease had lapsed: they may still be its own. */
  const adrift = new Set<RunId>();
  /** Starts that are not durable yet. */
  const starting = new Map<RunId, Promise<unknown>>();
  /** Runs that cannot go on in this process; taking them up again would only break again. */
  const broken = new Map<RunId, Error>();
  let fault: Error | null = null;
  let closing: Promise<void> | null = null;

  const wake = (run: RunId): void => {
    for (const resolve of settledBy.get(run) ?? []) resolve();
    settledBy.delete(run);
  };
  const fail = (error: Error): void => {
    fault ??= error;
    options.onFault?.(error);
    worker.stop(error);
    for (const run of [...settledBy.keys()]) wake(run);
    feed.close();
  };
  const worker = new Worker({
    journal: store.journal,
    performer,
    clock,
    snapshotEvery,
    mayAct: () => lease.holds(),
    regain: () => lease.regain(),
    onTurn: (held, events, previous) => feed.publish(held.run, events, previous, held.head),
    hearing: feed,
    onIdle: (held) => {
      // Somebody is about to answer, or the clock is about to move: it stays.
      if (held.inbox.length > 0) return;
      if (held.cancelWake === null) worker.drop(held.run);
      wake(held.run);
      if (held.state?.outcome !== null) feed.end(held.run);
    },
    onLost: (run) => {
      adrift.add(run);
      wake(run);
    },
    onFault: fail,
    onBroken: (run, cause) => {
      const error = new SluiceError(
        'invariant-broken',
        `run ${run} contradicts itself and was stopped: ${cause.message}`,
        undefined,
        cause,
      );
      broken.set(run, error);
      options.onFault?.(error);
      wake(run);
    },
  });
  const lease = createLease(store.roster, worker.id, leaseMs, () =>
    fail(new SluiceError('lease-lost', 'another process has taken over the work of this one')),
  );

  const alive = async (): Promise<void> => {
    if (fault !== null) throw fault;
    if (closing !== null) throw new SluiceError('engine-closed', 'the engine is closed');
    await lease.ready();
  };
  const tell = (held: Held, fact: Fact): Promise<Refusal | null> =>
    new Promise((done, failed) => worker.tell(held, { fact, done, failed }));

  /** A run that waits belongs to nobody, so that another process may have been quicker. Not so when this one must stop. */
  const ifTaken = (error: unknown): 'taken' => {
    if (fault === null && error instanceof SluiceError && error.code === 'lease-lost') return 'taken';
    throw error;
  };

  /** Brings a run into this process and goes on with it; null when another live one has it. */
  const take = async (run: RunId): Promise<Held | null> => {
    const held = await look(run);
    if (held !== null) worker.begin(held);
    return held;
  };
  /** Brings a run into this process as it is. */
  const look = async (run: RunId): Promise<Held | null> => {
    const here = worker.runs.get(run);
    if (here !== undefined && !waits(here)) return here;
    if (broken.has(run)) return null;
    const claimed = await store.roster.claim(worker.id, Date.now(), { run });
    if (!claimed.includes(run)) return null;
    const stored = await store.journal.load(run);
    if (stored === null) throw unknown(run);
    const held = restore(run, stored, programOf(JSON.parse(stored.flow) as CompiledFlow));
    // It belongs to nobody as long as it waits, and others must be able to tell it something.
    if (waits(held)) await store.roster.release(worker.id, [run]);
    const again = worker.runs.get(run);
    if (again !== undefined && (again.seq >= held.seq || !waits(again))) return again;
    worker.drop(run);
    if (held.state?.outcome === null) worker.adopt(held);
    return held;
  };
  const poll = async (): Promise<void> => {
    if (closing !== null || fault !== null) return;
    try {
      for (const { id, run, fact } of await store.roster.mail(worker.id)) {
        const held = await look(run);
        if (held === null) continue;
        if (held.state?.outcome === null && (await tell(held, fact).catch(ifTaken)) === 'taken') continue;
        await store.roster.deleteMail([id]);
        worker.begin(held);
      }
      if (pickUp)
        for (const run of await store.roster.claim(worker.id, Date.now(), { limit: CLAIM_MAX })) adrift.add(run);
      for (const run of adrift)
        if ((await take(run)) !== null || (await store.roster.find(run))?.owner !== worker.id) adrift.delete(run);
    } catch (error) {
      if (closing === null && fault === null) fail(error as Error);
    }
  };
  let polling: Promise<void> = lease.ready().then(poll, () => undefined);
  const poller = setInterval(() => {
    polling = polling.then(poll);
  }, POLL_MS);
  poller.unref();

  /** Tells a run something, here or through the mail of whoever works on it, until it is on the journal or refused. */
  const deliver = async (run: RunId, fact: Extract<Fact, { type: 'answer' | 'cancel' }>): Promise<void> => {
    let posted = false;
    for (;;) {
      await alive();
      const entry = await store.roster.find(run);
      if (entry === null) throw unknown(run);
      // Whoever had the run may have read the mail and let go of it since.
      if (posted && (await hasCome(run, fact))) return;
      // Only when it has been told does the run go on: what it waits for may be what this is about.
      const held = await look(run);
      if (held !== null) {
        const told = hasEnded(held) ?? (await tell(held, fact).catch(ifTaken));
        if (told === 'taken') continue;
        // What is refused now may be what the mail has brought about since we looked, or a run that stops already.
        const stands = told === null || (posted && (await hasCome(run, fact))) || isStopping(held, fact);
        if (!stands) {
          await letGo(held);
          return refuse(told);
        }
        worker.begin(held);
        return;
      }
      // Whoever has it takes what is posted without a word, so that it is judged here as well as can be.
      const { program, state } = await readRun(store.journal, run);
      const refusal = settle(program, state, [fact], Date.now()).refusals.get(0) ?? null;
      if (refusal !== null && !(posted && (await hasCome(run, fact)))) return refuse(refusal);
      if (!posted) await store.roster.post(run, fact);
      posted = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  /** A run that was only looked at is not kept from others. */
  const letGo = async ({ run, begun }: Held): Promise<void> => {
    if (begun) return;
    worker.drop(run);
    await store.roster.release(worker.id, [run]);
  };
  /** Whether what was told is on the journal. An answer that another one came before is not. */
  const hasCome = async (run: RunId, fact: Extract<Fact, { type: 'answer' | 'cancel' }>): Promise<boolean> => {
    const { state, events } = await readRun(store.journal, run);
    if (fact.type === 'cancel') return state.outcome !== null || state.threads.get('0')?.doing.is === 'unwinding';
    const asked = events.find((event) => event.type === 'effect.requested' && event.question?.id === fact.id);
    const { payload: _, ...answer } = fact.answer;
    return events.some(
      (event) =>
        asked?.type === 'effect.requested' &&
        event.type === 'effect.settled' &&
        event.key === asked.key &&
        event.result.ok &&
        canonicalize(event.result.value) === canonicalize(answer),
    );
  };

  return {
    start: async (
      flow,
      {
        run = newRunId(),
        input: given = null,
        seed = Number.parseInt(randomHex(), 16),
        origin = {},
      }: StartOptions = {},
    ) => {
      await alive();
      if (!RUN_ID.test(run))
        throw new SluiceError(
          'bad-run-id',
          `\`${run}\` cannot be a run id`,
          'use up to 80 letters, digits, `_` and `-`',
        );
      const input = storedInput(flow, given);
      // Of several starts under one id the first counts, and nobody can tell what it is before it is durable.
      for (let first = starting.get(run); first !== undefined; first = starting.get(run))
        await first.catch(() => undefined);
      const held = { ...hold(run, programOf(flow)), begun: true };
      if (worker.runs.has(run)) return same(run, flow, input);
      worker.runs.set(run, held);
      const told = tell(held, { type: 'start', run, flow: flow.hash, input, seed, origin: origin satisfies Origin });
      starting.set(run, told);
      try {
        await told;
      } catch (error) {
        if (worker.runs.get(run) === held) worker.runs.delete(run);
        if (error instanceof SluiceError && error.code === 'lease-lost' && (await store.roster.find(run)) !== null)
          return same(run, flow, input);
        throw error;
      } finally {
        starting.delete(run);
      }
      const keep = options.retain?.[flow.notation] ?? flow.view?.keepEnded;
      if (keep !== undefined) await store.roster.retain(flow.notation, keep);
      return run;
    },
    answer: async (id, answer) => {
      const run = id.slice(2, id.indexOf('.'));
      if (!id.startsWith('a_') || !RUN_ID.test(run) || (await store.roster.find(run)) === null)
        throw new SluiceError(
          'approval-not-found',
          `there is no approval \`${id}\``,
          'list what waits with `sluice approvals`',
        );
      await deliver(run, { type: 'answer', id, answer });
      return run;
    },
    cancel: (run, by, why = 'asked to') => deliver(run, { type: 'cancel', by, why }),
    resume: async (run) => {
      await alive();
      if ((await store.roster.find(run)) === null) throw unknown(run);
      await take(run);
    },
    get: (run) => report(run),
    wait,
    settled: async (run) => {
      await wait(run);
      return report(run);
    },
    list: () => store.roster.list(),
    events: ((run: RunId, { after = 0, live = true, deltas = false }: EventsOptions & { deltas?: boolean } = {}) =>
      feed.follow(store.journal, run, after, live, deltas)) as Engine['events'],
    approvals: async (run) => {
      const entries = run === undefined ? await store.roster.list({ status: ['suspended', 'running'] }) : [{ run }];
      const waiting = [];
      for (const entry of entries) {
        const { state, program } = await readRun(store.journal, entry.run);
        waiting.push(...waitingOf(program, state));
      }
      return waiting;
    },
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    clearInterval(poller);
    await polling;
    worker.stop(new SluiceError('engine-closed', 'the engine was closed'));
    for (const run of [...settledBy.keys()]) wake(run);
    feed.close();
    // A lease that cannot be given back, as on a full disk, runs out by itself.
    await lease.resign().catch(() => undefined);
    await store.close();
  }

  async function wait(run: RunId): Promise<void> {
    for (;;) {
      await alive();
      if (broken.has(run)) throw broken.get(run) as Error;
      const here = worker.runs.get(run);
      if (here !== undefined && !waits(here) && isQuiet(here, clock.virtual)) return;
      if (here === undefined || (waits(here) && isQuiet(here, clock.virtual))) {
        const entry = await store.roster.find(run);
        if (entry === null) throw unknown(run);
        if (entry.status !== 'running' && entry.status !== 'pending') return;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        continue;
      }
      await new Promise<void>((resolve) => settledBy.set(run, [...(settledBy.get(run) ?? []), resolve]));
      if (fault !== null) throw fault;
      if (!worker.runs.has(run) && !broken.has(run) && !adrift.has(run)) return;
    }
  }

  async function report(run: RunId): Promise<Report> {
    return reportOf(await readRun(store.journal, run));
  }

  /** A second start under the same id is the first one, or a mistake. */
  async function same(run: RunId, flow: CompiledFlow, input: unknown): Promise<RunId> {
    const { state } = await readRun(store.journal, run);
    if (state.flow === flow.hash && canonicalize(state.input) === canonicalize(input)) {
      await take(run);
      return run;
    }
    throw new SluiceError('run-exists', `run ${run} exists with another flow or input`, 'choose another run id');
  }
}

/** What is stored of an input; the types say what it has to be, but not to everybody. */
function storedInput(flow: CompiledFlow | undefined, input: unknown): Json {
  if (flow === undefined)
    throw new SluiceError(
      'bad-start',
      'there is no flow to start',
      'a document with mistakes has diagnostics and no flow',
    );
  try {
    return plainJson(input);
  } catch (error) {
    const why = (error as Error).message.split('\n')[0];
    throw new SluiceError('bad-start', `the input is not JSON: ${why}`, 'give plain data');
  }
}

/** Nothing is on its way to it, and it waits for a person. Virtual time lets a bounded wait pass at once; real time takes it. */
function isQuiet({ state, inbox, storing, cancelWake }: Held, virtual: boolean): boolean {
  if (state === null || storing || inbox.length > 0) return false;
  return state.outcome !== null || (statusOf(state) === 'suspended' && (!virtual || cancelWake === null));
}

/** Nobody owns a run that waits for a person: another process may have taken it further since. */
function waits({ state }: Held): boolean {
  return state !== null && statusOf(state) === 'suspended';
}

/** Asking for it once more is no mistake. */
function isStopping({ state }: Held, { type }: Fact): boolean {
  return type === 'cancel' && state?.outcome === null && state.threads.get('0')?.doing.is === 'unwinding';
}

function hasEnded({ run, state }: Held): Refusal | null {
  const ended = state?.outcome ?? null;
  return ended === null ? null : { refused: 'run-ended', message: `run ${run} has ended ${ended.code}` };
}

function refuse(refusal: Refusal | null): void {
  if (refusal === null) return;
  throw new SluiceError(isErrorCode(refusal.refused) ? refusal.refused : 'internal-error', refusal.message);
}

function unknown(run: RunId): SluiceError {
  return new SluiceError('run-not-found', `there is no run \`${run}\``, 'list the runs with `sluice runs`');
}

/** Sorts by time of creation, and is short enough to type. */
function newRunId(): RunId {
  return `r_${Date.now().toString(36)}${randomHex()}`;
}

/** 32 random bits; from a UUID, because those come from a pool and not from the system each time. */
function randomHex(): string {
  return randomUUID().slice(0, 8);
}
