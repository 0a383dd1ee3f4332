/**
 * The speed of spending: tokens of the latest minute and dollars of the latest hour, by run, agent and authored node. Computed
 * from journals alone.
 */
import type { CompiledFlow, Instant } from '@sluice-internal/kernel/ir';
import type { ChainedEvent } from '../ports/types.ts';
import { nameAt } from './authored.ts';

export interface Spending {
  readonly at: Instant;
  readonly run: string;
  readonly agent: string;
  /** The authored node or step. */
  readonly node: string;
  readonly tokens: number;
  readonly usd: number;
}

export interface Velocity {
  readonly name: string;
  readonly tokensPerMinute: number;
  readonly usdPerHour: number;
  /** The fastest minute and the fastest hour. */
  readonly peakTokensPerMinute: number;
  readonly peakUsdPerHour: number;
}

/** The model calls of a run that spent something. */
export function spendingOf(run: string, flow: CompiledFlow, events: Iterable<ChainedEvent>): readonly Spending[] {
  const calls = new Map<string, Pick<Spending, 'agent' | 'node'>>();
  const spent: Spending[] = [];
  for (const event of events) {
    if (event.type === 'effect.requested' && event.kind === 'model')
      calls.set(event.key, { agent: event.name, node: nameAt(flow, event.node) });
    const call = event.type === 'effect.settled' ? calls.get(event.key) : undefined;
    if (event.type !== 'effect.settled' || call === undefined) continue;
    const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = event.result.used ?? {};
    const tokens = inputTokens + outputTokens;
    if (tokens + costMicros > 0) spent.push({ ...call, at: event.at, run, tokens, usd: costMicros / 1_000_000 });
  }
  return spent;
}

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** The velocity of each group, the one that spends most first. */
export function velocities(
  spent: readonly Spending[],
  by: 'run' | 'agent' | 'node',
  now: Instant,
): readonly Velocity[] {
  const groups = Map.groupBy(spent, (each) => each[by]);
  const all = [...groups].map(([name, group]): Velocity => {
    const tokens = rolling(group, MINUTE_MS, now, (each) => each.tokens);
    const usd = rolling(group, HOUR_MS, now, (each) => each.usd);
    return {
      name,
      tokensPerMinute: tokens.latest,
      usdPerHour: usd.latest,
      peakTokensPerMinute: tokens.peak,
      peakUsdPerHour: usd.peak,
    };
  });
  return all.sort((a, b) => b.peakTokensPerMinute - a.peakTokensPerMinute || (a.name < b.name ? -1 : 1));
}

function rolling(
  spent: readonly Spending[],
  spanMs: number,
  now: Instant,
  amountOf: (each: Spending) => number,
): { readonly latest: number; readonly peak: number } {
  const sorted = [...spent].sort((a, b) => a.at - b.at);
  let first = 0;
  let sum = 0;
  let peak = 0;
  for (const each of sorted) {
    sum += amountOf(each);
    for (let old = sorted[first]; old !== undefined && old.at <= each.at - spanMs; old = sorted[++first])
      sum -= amountOf(old);
    peak = Math.max(peak, sum);
  }
  const latest = sorted.reduce((total, each) => (each.at > now - spanMs ? total + amountOf(each) : total), 0);
  return { latest: rounded(latest), peak: rounded(peak) };
}

/** Sums of fractions are not exact. */
function rounded(amount: number): number {
  return Math.round(amount * 1_000_000) / 1_000_000;
}
