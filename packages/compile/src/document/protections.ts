/** The protections of a document or a stage, with their defaults. */
import { present } from '@sluice-internal/kernel/expr';
import type { CellChange } from '@sluice-internal/kernel/catalog';
import { DEFAULT_RETRY_BUDGET } from '@sluice-internal/kernel/ir';
import type { BreakerRules, FailureKind, RateRules, RetryBudgetRules, Tier } from '@sluice-internal/kernel/ir';
import type { RawLoop, RawProtections, RawVelocity } from './schema/protections.ts';

/** The rules of the loop detector: the keys of `protections.loop`, each with a value. */
export type LoopRules = { readonly [key in keyof RawLoop]-?: NonNullable<RawLoop[key]> };

/** The keys of `protections.velocity`. A limit that is absent does not hold. */
export type VelocityRules = RawVelocity & Required<Pick<RawVelocity, 'on_trip'>>;

interface DeadlockRules {
  /** The longest cycle of turns that may not repeat. */
  readonly cycle: number;
  /** `record`: only an event and a decision of the report. */
  readonly onTrip: 'escalate' | 'end' | 'record';
}

/** Null: switched off, or not declared where it is not on by default. */
export interface Protections {
  readonly tier: Tier;
  /** `acts`: a longer chain is stopped. Otherwise it is only recorded. */
  readonly hops: { readonly max: number; readonly acts: boolean } | null;
  readonly depth: number | null;
  readonly spawn: number | null;
  readonly loop: LoopRules | null;
  readonly breaker: BreakerRules | null;
  readonly retryBudget: RetryBudgetRules | null;
  readonly velocity: VelocityRules | null;
  readonly deadlock: DeadlockRules | null;
  readonly onFailure: { readonly [failure in FailureKind]?: CellChange };
  /** The protections that the section sets, also those that it switches off. */
  readonly declared: ReadonlySet<keyof RawProtections>;
}

const RATE: RateRules = { errors: 0.5, soft: 0.5, calls: 20, windowMs: 60_000 };
const BREAKER: BreakerRules = {
  identicalCalls: 3,
  schemaFailures: 2,
  providerErrors: 5,
  rate: RATE,
  cooldownMs: 30_000,
  maxTrips: 3,
  fallback: null,
};
const LOOP: LoopRules = {
  window: 5,
  identical: 3,
  cycle: 4,
  failures: 4,
  same_failure: 2,
  rephrased: true,
  ignore: [],
  on_trip: 'correct',
};
const VELOCITY: VelocityRules = { usd_per_hour: 5, tokens_per_minute: 100_000, on_trip: 'escalate' };
const DEADLOCK: DeadlockRules = { cycle: 3, onTrip: 'escalate' };
const HOPS = 5;
const DEPTH = 8;
const SPAWN = 20;

/** The defaults of every notation. The author wrote the routes, so cycles and hops are only recorded. */
const COMMON_PROTECTIONS: Protections = {
  tier: 'batch',
  hops: { max: HOPS, acts: false },
  depth: null,
  spawn: null,
  loop: LOOP,
  breaker: null,
  retryBudget: null,
  velocity: null,
  deadlock: { ...DEADLOCK, onTrip: 'record' },
  onFailure: {},
  declared: new Set(),
};

/** The defaults of a notation with all protections on. */
export const FULL_PROTECTIONS: Protections = {
  ...COMMON_PROTECTIONS,
  hops: { max: HOPS, acts: true },
  depth: DEPTH,
  spawn: SPAWN,
  breaker: BREAKER,
  retryBudget: DEFAULT_RETRY_BUDGET,
  velocity: VELOCITY,
  deadlock: DEADLOCK,
};

/** The section on top of what applies without it: the defaults of the notation, or for a stage those of its document. */
export function protectionsOf(raw: RawProtections | undefined, base: Protections = COMMON_PROTECTIONS): Protections {
  if (raw === undefined) return base;
  const declared = new Set((Object.keys(raw) as (keyof RawProtections)[]).filter((key) => raw[key] !== undefined));
  return {
    tier: raw.tier ?? base.tier,
    hops: over(raw.hops, base.hops, (max) => ({ max, acts: true })),
    depth: over(raw.depth, base.depth, (depth) => depth),
    spawn: over(raw.spawn, base.spawn, ({ max }) => max ?? base.spawn ?? SPAWN),
    loop: over(raw.loop, base.loop, (rules) => ({ ...LOOP, ...base.loop, ...present(rules) })),
    breaker: over(raw.breaker, base.breaker, (rules) => breakerOf(rules, base.breaker ?? BREAKER)),
    retryBudget: over(raw.retry_budget, base.retryBudget, (rules) => ({
      ...DEFAULT_RETRY_BUDGET,
      ...base.retryBudget,
      ...present(rules),
    })),
    velocity: over(raw.velocity, base.velocity, (rules) => velocityOf(rules, base.velocity)),
    deadlock: over(raw.deadlock, base.deadlock, ({ cycle, on_trip: onTrip }) => ({
      ...DEADLOCK,
      ...present({ cycle, onTrip }),
    })),
    onFailure: { ...base.onFailure, ...changesOf(raw.on_failure ?? {}) },
    declared,
  };
}

/** `false` switches off, an absent entry keeps what applies without it. */
function over<Raw, Rules>(raw: Raw | false | undefined, base: Rules | null, read: (raw: Raw) => Rules): Rules | null {
  return raw === undefined ? base : raw === false ? null : read(raw);
}

type RawBreaker = Exclude<RawProtections['breaker'], false | undefined>;

function breakerOf(raw: RawBreaker, base: BreakerRules): BreakerRules {
  return {
    identicalCalls: raw.identical_calls ?? base.identicalCalls,
    schemaFailures: raw.schema_failures ?? base.schemaFailures,
    providerErrors: raw.provider_errors ?? base.providerErrors,
    rate: over(raw.rate, base.rate ?? null, (rules) => rateOf(rules, base.rate ?? RATE)),
    cooldownMs: raw.cooldown === undefined ? base.cooldownMs : Math.ceil(raw.cooldown * 1000),
    maxTrips: raw.max_trips ?? base.maxTrips,
    fallback: raw.fallback ?? base.fallback,
  };
}

function rateOf(raw: Exclude<RawBreaker['rate'], false | undefined>, base: RateRules): RateRules {
  const { window, ...shares } = raw;
  return { ...base, ...present({ ...shares, windowMs: window && Math.ceil(window * 1000) }) };
}

/** A section that names a limit has only the limits that it names. The limits of agents are always its own. */
function velocityOf(raw: RawVelocity, base: VelocityRules | null): VelocityRules {
  const { usd_per_hour, tokens_per_minute, agents: _, ...common } = base ?? VELOCITY;
  const isNamed = raw.usd_per_hour !== undefined || raw.tokens_per_minute !== undefined;
  return {
    ...(isNamed ? {} : { usd_per_hour, tokens_per_minute }),
    ...common,
    ...(raw.fallback === undefined ? {} : { on_trip: 'cheaper' }),
    ...present(raw),
  };
}

function changesOf(raw: NonNullable<RawProtections['on_failure']>): Protections['onFailure'] {
  return Object.fromEntries(
    Object.entries(present(raw)).map(([failure, cell]) => [
      failure,
      { retries: cell.retries, replans: cell.replans, last: cell.then },
    ]),
  );
}
