/**
 * The quota of a tenant and its use, as plain data. A run reserves the most that it can spend. When it ends, its real use
 * counts and the rest is free again. Use and reservations together never exceed a limit.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Instant, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from './errors.ts';

/**
 * Limits for the runs of one tenant. A missing field is no limit.
 * @example
 * const quota: Quota = { concurrent: 4, runs: 1000, tokens: 2_000_000, usd: 20, per: 'day' };
 */
export interface Quota {
  /** Runs that start within the period. */
  readonly runs?: number;
  /** Runs that have not ended, waiting ones included. */
  readonly concurrent?: number;
  /** Input and output tokens within the period. */
  readonly tokens?: number;
  /** Dollars within the period. */
  readonly usd?: number;
  /** The period, by the calendar in UTC. Default `day`. */
  readonly per?: Period;
}
export type Period = (typeof PERIODS)[number];
export const PERIODS = ['hour', 'day', 'month'] as const;
export const LIMITS = ['runs', 'concurrent', 'tokens', 'usd'] as const;

export interface Amount {
  readonly tokens: number;
  readonly costMicros: number;
}

interface Reservation extends Amount {
  readonly at: Instant;
  /** Use of the run that an earlier reservation has counted. */
  readonly counted: Amount;
}

export interface QuotaUse extends Amount {
  /** The start of the period that the counts are for. */
  readonly since: Instant;
  readonly runs: number;
  readonly reservations: { readonly [run: RunId]: Reservation };
  /** Starts that were refused, of all time. */
  readonly refused: number;
}

/** A limit that a reservation exceeds. */
export interface Excess {
  readonly limit: (typeof LIMITS)[number];
  readonly most: number;
  readonly taken: number;
  /** Null: it has no limit. */
  readonly asked: number | null;
}

/** The most that a run can spend. Null: it has no limit. */
export interface WorstCase {
  readonly tokens: number | null;
  readonly costMicros: number | null;
}

const MICROS = 1_000_000;

/** The use in the period of `now`. Reservations stay: their runs can still spend. */
export function useAt(stored: QuotaUse | null, per: Period = 'day', now: Instant): QuotaUse {
  const since = periodStart(per, now);
  const { reservations = {}, refused = 0 } = stored ?? {};
  if (stored !== null && stored.since >= since) return stored;
  return { since, runs: 0, tokens: 0, costMicros: 0, reservations, refused };
}

function periodStart(per: Period, now: Instant): Instant {
  const at = new Date(now);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  if (per === 'month') return Date.UTC(year, month);
  return Date.UTC(year, month, at.getUTCDate(), per === 'hour' ? at.getUTCHours() : 0);
}

export interface Request {
  readonly run: RunId;
  /** The run starts now, and does not continue. */
  readonly starts: boolean;
  readonly worst: WorstCase;
  /** Use of the run before this reservation. */
  readonly spent: Amount;
}

export interface Reserved {
  readonly use: QuotaUse;
  readonly excess: readonly Excess[];
  /** False if the run already had a reservation. */
  readonly isNew: boolean;
}

/** Adds a reservation, or lists the limits that it exceeds. A run that has one keeps it, with a new time. */
export function reserve(use: QuotaUse, quota: Quota, { run, starts, worst, spent }: Request, now: Instant): Reserved {
  const own = Object.hasOwn(use.reservations, run) ? use.reservations[run] : undefined;
  if (own !== undefined)
    return {
      use: { ...use, reservations: { ...use.reservations, [run]: { ...own, at: now } } },
      excess: [],
      isNew: false,
    };
  const left = { tokens: leftOf(worst.tokens, spent.tokens), costMicros: leftOf(worst.costMicros, spent.costMicros) };
  const excess = excessOf(use, quota, left, starts ? 1 : 0);
  if (excess.length > 0) return { use, excess, isNew: false };
  const reservation = { at: now, tokens: left.tokens ?? 0, costMicros: left.costMicros ?? 0, counted: spent };
  const runs = use.runs + (starts ? 1 : 0);
  return { use: { ...use, runs, reservations: { ...use.reservations, [run]: reservation } }, excess: [], isNew: true };
}

function leftOf(most: number | null, spent: number): number | null {
  return most === null ? null : Math.max(0, Math.ceil(most - spent));
}

function excessOf(use: QuotaUse, quota: Quota, left: WorstCase, starts: number): readonly Excess[] {
  const taken = takenOf(use);
  const asked = { runs: starts, concurrent: 1, tokens: left.tokens, usd: left.costMicros };
  return LIMITS.flatMap((limit) => {
    const most = quota[limit];
    if (most === undefined) return [];
    const scale = limit === 'usd' ? MICROS : 1;
    const amount = asked[limit];
    if (amount !== null && taken[limit] + amount <= Math.round(most * scale)) return [];
    return [{ limit, most, taken: taken[limit] / scale, asked: amount === null ? null : amount / scale }];
  });
}

/** Use and reservations together. Dollars in millionths. */
export function takenOf({ runs, tokens, costMicros, reservations }: QuotaUse): Record<(typeof LIMITS)[number], number> {
  const all = Object.values(reservations);
  const sum = (of: (each: Reservation) => number): number => all.reduce((total, each) => total + of(each), 0);
  return {
    runs,
    concurrent: all.length,
    tokens: tokens + sum((each) => each.tokens),
    usd: costMicros + sum((each) => each.costMicros),
  };
}

/** Ends a reservation. `spent` is the whole use of the run; null if the run was never stored. */
export function release(use: QuotaUse, run: RunId, spent: Amount | null): QuotaUse {
  const own = Object.hasOwn(use.reservations, run) ? use.reservations[run] : undefined;
  if (own === undefined) return use;
  const { [run]: _, ...reservations } = use.reservations;
  if (spent === null) return { ...use, reservations, runs: Math.max(0, use.runs - 1) };
  return {
    ...use,
    reservations,
    tokens: use.tokens + Math.max(0, spent.tokens - own.counted.tokens),
    costMicros: use.costMicros + Math.max(0, spent.costMicros - own.counted.costMicros),
  };
}

/** Throws if the fields are not those of a quota. */
export function checkedQuota(tenant: string, given: unknown): Quota {
  const wrong = (message: string): SluiceError =>
    new SluiceError(
      'bad-quota',
      `the quota of tenant \`${tenant}\` is not valid: ${message}`,
      'The fields are runs, concurrent, tokens, usd and per.',
    );
  if (!isRecord(given)) throw wrong('it is not an object');
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of fields) {
    if (name === 'per') {
      if (!PERIODS.includes(value as Period)) throw wrong('`per` is hour, day or month');
    } else if (!LIMITS.includes(name as (typeof LIMITS)[number])) throw wrong(`it has no field \`${name}\``);
    else if (typeof value !== 'number' || !(value >= 0) || !Number.isFinite(value))
      throw wrong(`\`${name}\` is not a number of at least 0`);
    else if (name !== 'usd' && !Number.isSafeInteger(value)) throw wrong(`\`${name}\` is not a whole number`);
  }
  if (!fields.some(([name]) => name !== 'per')) throw wrong('it has no limit');
  return Object.fromEntries(fields);
}
