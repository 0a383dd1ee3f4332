/** What a run came to, without anything that time decides, so that two runs of the same flow can be compared. */
import { openSqlite } from '@sluice-internal/store-sqlite';
import type { Event } from '@sluice-internal/kernel/ir';
import { audit, replay } from '@sluice-internal/engine/audit';
import { eachOf } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { reportOf } from '@sluice-internal/engine/report';

interface RunOutcome {
  readonly run: string;
  readonly state: string;
  readonly code: string | null;
  readonly output: unknown;
  readonly error: unknown;
  /** The authored nodes that were entered; in order where one thread did it all. */
  readonly path: readonly string[];
  /** What each thread did, in its order. */
  readonly threads: { readonly [thread: string]: readonly string[] };
}

export interface Judged {
  readonly outcomes: ReadonlyMap<string, RunOutcome>;
  readonly violations: readonly string[];
  readonly events: number;
}

/** Reads every run of a database, and has each audited and replayed. */
export async function judge(db: string): Promise<Judged> {
  const store = openSqlite(db);
  const outcomes = new Map<string, RunOutcome>();
  const violations: string[] = [];
  let events = 0;
  for await (const { run } of eachOf((page) => store.index.list(page))) {
    const audited = await audit(store.journal, run);
    if (!audited.ok) violations.push(`audit of ${run}: ${audited.broken?.message ?? ''}`);
    else {
      const replayed = await replay(store.journal, run);
      if (!replayed.agrees) violations.push(`replay of ${run} differs: ${JSON.stringify(replayed.difference)}`);
    }
    events += audited.events;
    const read = await readRun(store.journal, run);
    const { state, code, output, error, path } = reportOf(read);
    const threads = threadsOf(read.events);
    const inOrder = Object.keys(threads).length === 1 ? path : path.toSorted();
    outcomes.set(run, { run, state, code, output, error, path: inOrder, threads });
  }
  await store.close();
  return { outcomes, violations, events };
}

/** Compensations of several branches run in the order in which their effects did, which is a matter of time. */
function threadsOf(events: readonly Event[]): { [thread: string]: string[] } {
  const threads: { [thread: string]: string[] } = {};
  const undone: { [thread: string]: string[] } = {};
  for (const event of events) {
    if (!('thread' in event)) continue;
    if (event.type === 'undo.requested')
      (undone[event.thread] ??= []).push(`${event.type} ${event.tool} of ${event.undoes}`);
    else if (event.type !== 'thread.started')
      (threads[event.thread] ??= []).push(`${event.type} ${'node' in event ? (event.node ?? '') : ''}`);
  }
  const forked = Object.keys(threads).length > 1;
  for (const [thread, entries] of Object.entries(undone))
    (threads[thread] ??= []).push(...(forked ? entries.toSorted() : entries));
  return Object.fromEntries(Object.entries(threads).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
