/**
 * The changes of quotas, breakers and the retry budget, by name. A change takes and returns plain data and reads no clock, so a host
 * can send it to where the value lies instead of reading and replacing the value.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { BreakerRules, Instant, RetryBudgetRules, RunId } from '@sluice-internal/kernel/ir';
import { update } from '../ports/cells.ts';
import type { Swapped } from '../ports/cells.ts';
import { release, reserve, useAt } from '../ports/quota.ts';
import type { Amount, Quota, QuotaUse, Request, Reserved } from '../ports/quota.ts';
import { CLOSED, enter, leave } from './breaker.ts';
import type { BreakerState, Outcome, Step } from './breaker.ts';
import { spend } from './retry-budget.ts';
import type { BudgetState } from './retry-budget.ts';

interface QuotaTake {
  readonly quota: Quota;
  readonly request: Request;
  /** Another run, whose reservation is returned in the same step. */
  readonly instead?: { readonly run: RunId; readonly spent: Amount };
  readonly at: Instant;
}
interface QuotaGive {
  readonly run: RunId;
  /** Null if the run was never stored. */
  readonly spent: Amount | null;
  readonly per: Quota['per'];
  readonly at: Instant;
}
interface RetryTake {
  readonly rules: RetryBudgetRules;
  /** Calls that are added to the budget first. */
  readonly calls: number;
  /** The document declares the retry: it takes a token and is never refused. */
  readonly declared?: boolean;
  readonly at: Instant;
}
interface BreakerProbe {
  readonly call: string;
  readonly at: Instant;
}
interface BreakerTrip extends BreakerProbe {
  readonly rules: BreakerRules;
  readonly outcome: Outcome;
}

export const OPERATIONS = {
  /** Reserves for a run, or names the limits that it exceeds. */
  'quota.take': (value: Json, { quota, request, instead, at }: QuotaTake): Changed<Reserved> => {
    const before = useAt(useIn(value), quota.per, at);
    const use = instead === undefined ? before : release(before, instead.run, instead.spent);
    const reserved = reserve(use, quota, request, at);
    return [json(reserved.excess.length === 0 ? reserved.use : before), reserved];
  },
  /** Returns the reservation of a run, and counts what it spent. */
  'quota.give': (value: Json, { run, spent, per, at }: QuotaGive): Changed<null> => [
    json(release(useAt(useIn(value), per, at), run, spent)),
    null,
  ],
  /** Takes a token for one retry. */
  'retries.take': (value: Json, { rules, calls, declared, at }: RetryTake): Changed<ReturnType<typeof spend>> => {
    const spent = spend(value as unknown as BudgetState | null, rules, calls, declared === true ? 'takes' : 'asks', at);
    return [json(spent.state), spent];
  },
  /** Asks an open breaker for the call that tests whether it can close. */
  'breaker.probe': (value: Json, { call, at }: BreakerProbe): Changed<ReturnType<typeof enter>> => {
    const entered = enter(stateOf(value), call, at);
    return [entered.change === null && !entered.allowed ? value : json(entered.state), entered];
  },
  /** Reports the result of a call, which may open or close the breaker. */
  'breaker.trip': (value: Json, { rules, call, outcome, at }: BreakerTrip): Changed<Step['change']> => {
    const before = stateOf(value);
    // A breaker without violations is not stored again.
    if (outcome === 'invariant_kept' && before.violations === 0) return [value, null];
    const left = leave(before, rules, call, outcome, at);
    return [json(left.state), left.change];
  },
} as const;

type Changed<Result> = readonly [value: Json, result: Result];
type Name = keyof typeof OPERATIONS;
type Given<Of extends Name> = Parameters<(typeof OPERATIONS)[Of]>[1];
type Result<Of extends Name> = ReturnType<(typeof OPERATIONS)[Of]>[1];

/** Changes the value of a key by a named operation. */
export type Operate = <Of extends Name>(key: string, name: Of, given: Given<Of>) => Promise<Result<Of>>;

/** Reads the value, changes it, and swaps it. */
export function operationsOn(cells: Swapped): Operate {
  return <Of extends Name>(key: string, name: Of, given: Given<Of>) => {
    const change = OPERATIONS[name] as (value: Json, given: Given<Of>) => Changed<Result<Of>>;
    return update(cells, key, (value) => change(value, given));
  };
}

export function stateOf(value: Json): BreakerState {
  return value === null ? CLOSED : { ...CLOSED, ...(value as unknown as BreakerState) };
}

function useIn(value: Json): QuotaUse | null {
  return value as unknown as QuotaUse | null;
}

function json(value: object): Json {
  return value as unknown as Json;
}
