/** What a run used of the clock, counted from the times of events and from nothing that the meters say. */
import type { CompiledFlow, Event, Instant } from '@sluice-internal/kernel/ir';

/** Agents that worked longer than they may, and tools that were called more often than they may be. */
export function overtime(
  flow: CompiledFlow,
  events: readonly Event[],
  granted: { readonly [meter: string]: number },
): readonly string[] {
  return Object.entries(flow.meters).flatMap(([id, { unit, max, perMs = 0, label }]) => {
    if (max === null) return [];
    if (unit === 'rate') {
      const most = busiest(callsOf(events, id.slice('rate:'.length)), perMs);
      return most > max ? [`${label}: ${most} of ${max}`] : [];
    }
    if (unit !== 'time' || !id.includes('@')) return [];
    const worked = workedBy(events, id);
    const allowed = max + (granted[id] ?? 0);
    return worked > allowed ? [`${label}: ${worked} of ${allowed}`] : [];
  });
}

function callsOf(events: readonly Event[], tool: string): readonly Instant[] {
  const keys = new Set<string>();
  const times: Instant[] = [];
  for (const event of events) {
    if (event.type === 'effect.requested' && event.kind === 'tool' && event.name === tool) {
      keys.add(event.key);
      times.push(event.notBefore ?? event.at);
    }
    if (event.type === 'effect.judged' && event.verdict === 'retry' && keys.has(event.key)) times.push(event.notBefore);
  }
  return times.sort((a, b) => a - b);
}

/** The most calls in any stretch of that length. */
function busiest(times: readonly Instant[], perMs: number): number {
  return Math.max(0, ...times.map((from) => times.filter((time) => time >= from && time < from + perMs).length));
}

/** How long any call on that clock was under way. One that nobody came back to is over at its deadline. */
function workedBy(events: readonly Event[], meter: string): number {
  const open = new Set<string>();
  const deadlines = new Map<string, Instant>();
  let since = 0;
  let last = 0;
  let worked = 0;
  const begin = (key: string, at: Instant, deadline: Instant | null): void => {
    if (open.size === 0) since = last = at;
    open.add(key);
    deadlines.set(key, deadline ?? Infinity);
  };
  const end = (key: string, at: Instant): void => {
    if (!open.delete(key)) return;
    last = Math.max(last, Math.min(at, deadlines.get(key) ?? Infinity));
    if (open.size === 0) worked += last - since;
  };
  for (const event of events) {
    if (event.type === 'effect.requested' && event.timed?.includes(meter) === true)
      begin(event.key, event.at, event.deadline);
    else if (event.type === 'effect.settled' || event.type === 'effect.dropped') end(event.key, event.at);
    else if (event.type === 'effect.judged' && event.verdict === 'retry' && deadlines.has(event.key))
      begin(event.key, event.at, event.deadline);
  }
  return worked;
}
