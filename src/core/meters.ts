/**
 * Every bound is a meter (L4, L5). Visits and repeats are charged when a node acts; budget dimensions are reserved before
 * an effect is requested and settled to the measured use after it.
 */
import type { Amounts } from '../ir/dimensions.ts';
import { countsVisits, isCounted, isVelocity, wayOver } from '../ir/meters.ts';
import type { Meter, MeterId, Node } from '../ir/nodes.ts';
import type { EventBody, Hold, RunState } from '../ir/events.ts';
import type { Program, Visit } from './program.ts';

export type Tripped = Extract<EventBody, { type: 'meter.tripped' }>;

/** The meter that has no room for one more visit of this node, as the event that says so; null when all have. */
export function tripOnVisit(visit: Visit): Tripped | null {
  const { program, state, node } = visit;
  for (const id of node.charges ?? []) {
    const meter = meterAt(program, id);
    if (meter.max === null || !countsVisits(meter)) continue;
    const left = limitOf(state, id, meter) - (state.spent[id] ?? 0);
    if (left < 1) return tripped(visit, id, meter, 'limit', left, 1);
  }
  return foreseen(visit);
}

export interface Charges {
  /** Of a node's meters, those that a visit charges by one. */
  readonly visits: readonly MeterId[] | undefined;
  /** Of a node's meters, those that compare its effect with the latest ones. */
  readonly repeats: readonly MeterId[] | undefined;
  /** Of a node's meters, those that compare the replies of agents. */
  readonly turns: readonly MeterId[] | undefined;
  /** Of a node's meters, those that go by the clock. */
  readonly clocks: readonly MeterId[] | undefined;
}

/** Which meters a node charges in which way. */
export function chargesOf(program: Program, node: Node): Charges {
  const some = (units: readonly string[]): readonly MeterId[] | undefined => {
    const ids = (node.charges ?? []).filter((id) => units.includes(meterAt(program, id).unit));
    return ids.length === 0 ? undefined : ids;
  };
  return {
    visits: some(['visits', 'steps']),
    repeats: some(['repeats']),
    turns: some(['turns']),
    clocks: some(['rate', 'time']),
  };
}

/** Reserves the worst case in every dimension that a meter of this node limits, or says which one has no room. */
export function reserve(visit: Visit, amounts: Amounts): { holds: Hold[] } | Tripped {
  const { program, state, node } = visit;
  const holds: Hold[] = [];
  for (const id of node.charges ?? []) {
    const meter = meterAt(program, id);
    if (!isCounted(meter.unit) || meter.unit === 'steps') continue;
    const amount = amounts[meter.unit] ?? 0;
    if (amount === 0) continue;
    const left = remaining(state, id, meter);
    if (amount > left) return tooMuch(visit, id, meter, left, amount);
    holds.push({
      meter: id,
      dimension: meter.unit,
      amount,
      ...(meter.perMs === undefined ? {} : { perMs: meter.perMs }),
    });
  }
  return { holds };
}

function remaining(state: RunState, id: MeterId, meter: Meter): number {
  const spent = isVelocity(meter) ? rolled(state, id, meter) : (state.spent[id] ?? 0);
  return limitOf(state, id, meter) - spent - (state.held[id] ?? 0);
}

/** The amount of the latest stretch of time. */
function rolled({ rolling, now }: RunState, id: MeterId, { perMs = 0 }: Meter): number {
  return (rolling?.[id] ?? []).reduce((sum, { at, amount }) => (at > now - perMs ? sum + amount : sum), 0);
}

function tooMuch(visit: Visit, id: MeterId, meter: Meter, left: number, amount: number): Tripped {
  const { state } = visit;
  const event = tripped(visit, id, meter, 'limit', left, amount);
  if (!isVelocity(meter)) return event;
  const velocity = { spent: rolled(state, id, meter), max: limitOf(state, id, meter), perMs: meter.perMs ?? 0 };
  return { ...event, velocity };
}

/** The limit of the flow plus the amounts that people granted. */
export function limitOf(state: RunState, id: MeterId, { max }: Meter): number {
  return max === null ? Infinity : max + (state.raised?.[id] ?? 0);
}

export function meterAt(program: Program, id: MeterId): Meter {
  const meter = program.flow.meters[id];
  if (meter === undefined) throw new Error(`invariant: meter \`${id}\` is not in flow ${program.flow.hash}`);
  return meter;
}

/** Progressive interval estimation: what is left is less than the least that any way to a terminal still needs. */
function foreseen(visit: Visit): Tripped | null {
  const { program, state, thread, node } = visit;
  const least = node.needs ?? program.flow.least[thread.at];
  if (least === undefined) return null;
  for (const id of node.charges ?? []) {
    const meter = meterAt(program, id);
    if (meter.max === null || !isCounted(meter.unit) || isVelocity(meter)) continue;
    const needs = least[meter.unit] ?? 0;
    const left = remaining(state, id, meter);
    if (left < needs) return tripped(visit, id, meter, 'foreseen', left, needs);
  }
  return null;
}

export function tripped(
  { thread, node }: Visit,
  id: MeterId,
  meter: Meter,
  why: Tripped['why'],
  left: number,
  needs: number,
): Tripped {
  const at = { thread: thread.id, node: thread.at, meter: id };
  return { type: 'meter.tripped', ...at, why, left, needs, ...wayOver(node, meter) };
}
