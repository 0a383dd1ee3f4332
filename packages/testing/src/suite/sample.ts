/** Sample appends, chained by hash as the engine chains them. */
import { genesis, link } from '@sluice-internal/engine/journal';
import type { Append, RunEntryChange, Store } from '@sluice-internal/engine/ports';

export type Case = (store: Store) => Promise<void>;

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

/** Starts runs for a worker with a lease until 10,000. Returns their chains. */
export async function started<const Runs extends readonly (string | Chain)[]>(
  store: Store,
  worker: string,
  ...runs: Runs
): Promise<{ readonly [index in keyof Runs]: Chain }> {
  const chains = runs.map((run) => (typeof run === 'string' ? new Chain(run) : run));
  await store.leases.renew(worker, 0, 10_000);
  await store.journal.commit(
    worker,
    chains.map((chain) => chain.first()),
  );
  return chains as { readonly [index in keyof Runs]: Chain };
}
