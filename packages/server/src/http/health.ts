/** The health of a server: whether it takes requests, and sums for its page and for Prometheus. */
import { present } from '@sluice-internal/kernel/expr';
import type { EngineView } from '@sluice-internal/library';
import { RETRY_BUDGET_KEY } from '@sluice-internal/engine/limits';
import type { BudgetState } from '@sluice-internal/engine/limits';
import { DEFAULT_RETRY_BUDGET } from '@sluice-internal/kernel/ir';
import { valueAt } from '@sluice-internal/engine/ports';
import type { ListedRun, Store } from '@sluice-internal/engine/ports';
import { breakersIn } from './breakers.ts';
import type { Services } from './services.ts';

export async function healthOf({
  store,
  stopping,
  health,
}: Services): Promise<{ readonly ready: boolean; readonly why?: string }> {
  if (stopping.aborted) return { ready: false, why: 'the server stops' };
  // The engine stopped when it could not store an event. After a restart it goes on where it stopped.
  if (health.fullAt > 0) return { ready: false, why: 'the disk was full: make room and restart the server' };
  try {
    await store.index.list({ limit: 1 });
    return { ready: true };
  } catch {
    // The log has the reason. A stranger learns only that it is so.
    return { ready: false, why: 'the database does not answer' };
  }
}

const UNITS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** At most about 27 years: a longer time is no time of this server. */
export const SINCE = /^([1-9]\d{0,3})([mhd])$/;
const BUCKETS = 24;

/** Sums of the runs that started since a time, in all and in 24 bars. */
export async function summaryOf({ store }: Services, view: EngineView, since: string): Promise<object> {
  const [, count = '24', unit = 'h'] = SINCE.exec(since) ?? [];
  const span = Number(count) * (UNITS[unit] ?? 0);
  const from = Date.now() - span;
  const bars = Array.from({ length: BUCKETS }, (_, index) => ({
    at: new Date(from + (span / BUCKETS) * index).toISOString(),
    started: 0,
    well: 0,
    costUsd: 0,
  }));
  const codes: { [code: string]: number } = {};
  const durations: number[] = [];
  const total = { started: 0, ended: 0, well: 0, costUsd: 0 };
  for await (const run of pages(view, from)) {
    const bar = bars[Math.min(BUCKETS - 1, Math.floor(((run.startedAt - from) / span) * BUCKETS))];
    for (const sum of bar === undefined ? [total] : [total, bar]) addTo(sum, run);
    if (!hasEnded(run)) continue;
    total.ended += 1;
    durations.push(run.updatedAt - run.startedAt);
    if (run.code !== null) codes[run.code] = (codes[run.code] ?? 0) + 1;
  }
  const open = await view.approvals({ limit: 200 });
  const asked = open.items.map(({ askedAt }) => Date.parse(askedAt));
  durations.sort((a, b) => a - b);
  return {
    ...{ since: new Date(from).toISOString(), ...total, codes, bars },
    p95Ms: durations[Math.floor(durations.length * 0.95)] ?? null,
    costPerSuccess: total.well === 0 ? null : total.costUsd / total.well,
    questions: {
      open: open.items.length,
      more: open.next !== null,
      oldestMs: asked.length === 0 ? null : Date.now() - Math.min(...asked),
    },
    breakers: await breakersIn(store),
    retryBudget: await retryBudgetOf(store),
  };
}

/** What the retries of all runs share. Nothing was used while there is no value. */
async function retryBudgetOf({ shared }: Store): Promise<object> {
  const stored = (await valueAt(shared, RETRY_BUDGET_KEY)) as unknown as BudgetState | null;
  const { burst, share } = stored ?? DEFAULT_RETRY_BUDGET;
  const { tokens = burst, calls = 0, retries = 0, denied = 0 } = stored ?? {};
  return { tokens, burst, share, calls, retries, denied };
}

interface Sum {
  started: number;
  well: number;
  costUsd: number;
}

function addTo(sum: Sum, { code, facts }: ListedRun): void {
  sum.started += 1;
  sum.costUsd += facts?.costUsd ?? 0;
  if (code === 'SUCCESS' || code === 'PARTIAL_SUCCESS') sum.well += 1;
}

function hasEnded({ status }: ListedRun): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

async function* pages(view: EngineView, since: number) {
  let cursor: string | undefined;
  do {
    const { items, next } = await view.list({ since, limit: 200, ...present({ cursor }) });
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

export async function metricsText({ streams, counters }: Services): Promise<string> {
  const lines: string[] = [];
  const put = (
    name: string,
    about: string,
    type: 'counter' | 'gauge',
    values: Iterable<readonly [labels: string, value: number]>,
  ): void => {
    lines.push(`# HELP ${name} ${about}`, `# TYPE ${name} ${type}`);
    for (const [labels, value] of values) lines.push(`${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
  };
  put(
    'sluice_http_requests_total',
    'Requests by status.',
    'counter',
    [...counters.requests].map(([status, count]) => [`status="${status}"`, count]),
  );
  put('sluice_http_streams', 'Open streams.', 'gauge', [['', streams.count]]);
  return `${lines.join('\n')}\n`;
}
