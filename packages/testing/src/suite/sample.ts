/** Sample appends, chained by hash as the engine chains them. */
import { genesis, link } from '@sluice-internal/engine/journal';
import type { Append, RunEntryChange, Store, StoreClock } from '@sluice-internal/engine/ports';

/** What a case has besides its store. */
export interface Place {
  readonly clock: SuiteClock;
  /** Opens the same data again, as another process does. */
  again(): Promise<Store>;
  /** Makes the store unreachable until the returned function is called. */
  cut(): () => void;
}
export type Case = (store: Store, place: Place) => Promise<void>;

/** A clock that moves only when a case says so. */
export interface SuiteClock extends StoreClock {
  pass(ms: number): void;
}

export function suiteClock(): SuiteClock {
  let now = 0;
  return { now: () => now, elapsed: () => now, pass: (ms) => void (now += ms) };
}

export const RUNNING: RunEntryChange = { status: 'running', code: null, due: null };
export const ENDED: RunEntryChange = { status: 'completed', code: 'SUCCESS', due: null };

export function suspended(due: number | null): RunEntryChange {
  return { status: 'suspended', code: 'CONFIRM_REQUIRED', due };
}

/** The appends of one run, as its writer makes them. */
export class Chain {
  readonly run: string;
  readonly flow: { readonly hash: string; readonly text: string };
  seq = 0;
  head: string;

  constructor(
    run: string,
    flow: { readonly hash: string; readonly text: string } = { hash: 'flow-hash', text: '{"id":"demo"}' },
  ) {
    this.run = run;
    this.flow = flow;
    this.head = genesis(run, flow.hash);
  }

  first(entry: RunEntryChange = RUNNING, start: Partial<NonNullable<RunEntryChange['first']>> = {}): Append {
    const first = {
      flow: 'demo',
      notation: 'graph',
      startedAt: 1000,
      tenant: null,
      user: null,
      thread: null,
      parent: null,
      ...start,
    };
    return this.next({ entry: { ...entry, first }, flow: this.flow, at: first.startedAt });
  }

  next(change: Partial<Append> = {}): Append {
    const { count = 1, at = 1000 + this.seq, body = JSON.stringify([this.run, this.seq]) } = change;
    const after = this.seq;
    const hash = link(this.head, after, at, body);
    this.seq += count;
    this.head = hash;
    return {
      run: this.run,
      after,
      count,
      at,
      body,
      hash,
      blobs: [],
      entry: null,
      flow: null,
      snapshot: null,
      ...change,
    };
  }
}

/** Starts runs for a worker with a lease of 10 s. Returns their chains. */
export async function started<const Runs extends readonly (string | Chain)[]>(
  store: Store,
  worker: string,
  ...runs: Runs
): Promise<{ readonly [index in keyof Runs]: Chain }> {
  const chains = runs.map((run) => (typeof run === 'string' ? new Chain(run) : run));
  await store.leases.renew(worker, 10_000);
  await store.journal.commit(
    worker,
    chains.map((chain) => chain.first()),
  );
  return chains as { readonly [index in keyof Runs]: Chain };
}
