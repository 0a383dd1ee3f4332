/**
 * Every bound is a meter (L4, L5). Visits and repeats are charged when a node acts; budget dimensions are reserved before
 * an effect is requested, and the measured use replaces the reservation after it.
 */
import type { Amounts, Dimension } from '../ir/dimensions.ts';
import { countsVisits, isCounted, isVelocity, overTarget, shortfall } from '../ir/meters.ts';
import type { Meter, MeterId, Node } from '../ir/nodes.ts';
import type { ErrorRecord, EventBody, Hold, RunState } from '../ir/events.ts';
import { errorRecord } from './failure.ts';
import type { Program, Visit } from './program.ts';

export type Tripped = Extract<EventBody, { type: 'meter.tripped' }>;

/** The event that names a meter without room for one more visit of this node; null if all meters have room. */
export function tripOnVisit(visit: Visit, { limited, spendable }: Charges): Tripped | null {
  const { state } = visit;
  if (limited !== undefined)
    for (const { id, meter } of limited) {
      const left = limitOf(state, id, meter) - (state.spent[id] ?? 0);
      if (left < 1) return tripped(visit, id, meter, 'limit', left, 1);
    }
  return spendable === undefined ? null : foreseen(visit, spendable);
}

interface NamedMeter {
  readonly id: MeterId;
  readonly meter: Meter;
}

/** The meters of a node, by the way in which it charges them. */
export interface Charges {
  /** A visit charges them by one. */
  readonly visits: readonly MeterId[] | undefined;
  /** They compare the effect of the node with the latest ones. */
  readonly repeats: readonly MeterId[] | undefined;
  /** They compare the replies of agents. */
  readonly turns: readonly MeterId[] | undefined;
  /** They measure time. */
  readonly clocks: readonly MeterId[] | undefined;
  /** A visit charges them, and they have a limit. */
  readonly limited: readonly NamedMeter[] | undefined;
  /** Amounts are reserved for them before a call. */
  readonly reserved: readonly NamedMeter[] | undefined;
  /** They limit the amount of the whole run. */
  readonly spendable: readonly NamedMeter[] | undefined;
}

export function chargesOf(program: Program, node: Node): Charges {
  const meters = (node.charges ?? []).map((id) => ({ id, meter: meterAt(program, id) }));
  const some = (isWanted: (meter: Meter) => boolean): readonly NamedMeter[] | undefined => {
    const found = meters.filter(({ meter }) => isWanted(meter));
    return found.length === 0 ? undefined : found;
  };
  const ids = (...units: readonly Meter['unit'][]): readonly MeterId[] | undefined =>
    some(({ unit }) => units.includes(unit))?.map(({ id }) => id);
  return {
    visits: ids('visits', 'steps'),
    repeats: ids('repeats'),
    turns: ids('turns'),
    clocks: ids('rate', 'time'),
    limited: some((meter) => meter.max !== null && countsVisits(meter)),
    reserved: some(({ unit }) => isCounted(unit) && unit !== 'steps'),
    spendable: some((meter) => meter.max !== null && isCounted(meter.unit) && !isVelocity(meter)),
  };
}

/** Reserves the worst case in every dimension that a meter of this node limits. Undefined if there is nothing to reserve. */
export function reserve(visit: Visit, { reserved }: Charges, amounts: Amounts): readonly Hold[] | Tripped | undefined {
  if (reserved === undefined) return undefined;
  const { state } = visit;
  const holds: Hold[] = [];
  for (const { id, meter } of reserved) {
    const dimension = meter.unit as Dimension;
    const amount = amounts[dimension] ?? 0;
    if (amount === 0) continue;
    const left = remaining(state, id, meter);
    if (amount > left) return tooMuch(visit, id, meter, left, amount);
    const { perMs } = meter;
    holds.push(perMs === undefined ? { meter: id, dimension, amount } : { meter: id, dimension, amount, perMs });
  }
  return holds.length === 0 ? undefined : holds;
}

/** A velocity counts spent amounts only, because open calls may reserve far more than they use. */
function remaining(state: RunState, id: MeterId, meter: Meter): number {
  const limit = limitOf(state, id, meter);
  if (isVelocity(meter)) return limit - rolled(state, id, meter);
  return limit - (state.spent[id] ?? 0) - (state.reserved[id] ?? 0);
}

/** The amount of the last `perMs`. */
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

/** Trips if the rest of a budget is smaller than the least that any path to a terminal needs. */
function foreseen(visit: Visit, meters: readonly NamedMeter[]): Tripped | null {
  const { program, state, thread, node } = visit;
  const least = node.needs ?? program.flow.least[thread.at];
  if (least === undefined) return null;
  for (const { id, meter } of meters) {
    const needs = least[meter.unit as Dimension] ?? 0;
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
  const error = budgetError(node, meter, left, needs);
  const event = { type: 'meter.tripped', ...at, why, left, needs, ...overTarget(node, meter) } as const;
  return error === null ? event : { ...event, error };
}

/** The failure of a thread that a budget or a time limit stops; null for other meters. */
function budgetError(node: Node, meter: Meter, left: number, needs: number): ErrorRecord | null {
  if (meter.unit === 'time')
    return errorRecord(node, { class: 'timeout', type: 'TimeoutError', message: `${meter.label} is used up` }, 1);
  if (!isCounted(meter.unit) || isVelocity(meter)) return null;
  const message = shortfall(meter, { left, needs });
  return errorRecord(node, { class: 'budget', type: 'BudgetError', message }, 1);
}

/** True for the failure of a thread that a budget stopped. */
export function isBudgetError(error: ErrorRecord | null | undefined): error is ErrorRecord {
  return error?.type === 'BudgetError' && error.class === 'budget';
}
