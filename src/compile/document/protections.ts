/** The protections of a document or a stage with their defaults, and the checks of the section. */
import type { CellChange } from '../../catalog/failures.ts';
import type { BreakerRules, FailureKind, RetryBudgetRules, Tier } from '../../ir/protections.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { RawProtections } from './schema/protections.ts';
import type { Sections } from './schema/schema.ts';
import type { Shaped } from './shape/shape.ts';

/** The rules of the loop detector. */
export interface LoopRules {
  readonly window: number;
  readonly identical: number;
  readonly cycle: number;
  readonly failures: number;
  readonly ignore: readonly string[];
  readonly onTrip: 'correct' | 'end' | 'escalate';
}

export interface VelocityRules {
  /** Null: no limit. */
  readonly usdPerHour: number | null;
  readonly tokensPerMinute: number | null;
  readonly onTrip: 'cheaper' | 'escalate' | 'stop';
  readonly fallback: { readonly model: string } | null;
}

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

const BREAKER: BreakerRules = {
  identicalCalls: 3,
  schemaFailures: 2,
  providerErrors: 5,
  cooldownMs: 30_000,
  maxTrips: 3,
  fallback: null,
};
const RETRY_BUDGET: RetryBudgetRules = { share: 0.15, burst: 10 };
const LOOP: LoopRules = { window: 5, identical: 3, cycle: 4, failures: 4, ignore: [], onTrip: 'correct' };
const VELOCITY: VelocityRules = { usdPerHour: 5, tokensPerMinute: 100_000, onTrip: 'escalate', fallback: null };
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
  retryBudget: RETRY_BUDGET,
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
    loop: over(raw.loop, base.loop, ({ on_trip: onTrip, ...rules }) => ({
      ...LOOP,
      ...base.loop,
      ...defined(rules),
      ...defined({ onTrip }),
    })),
    breaker: over(raw.breaker, base.breaker, (rules) => breakerOf(rules, base.breaker ?? BREAKER)),
    retryBudget: over(raw.retry_budget, base.retryBudget, (rules) => ({
      ...RETRY_BUDGET,
      ...base.retryBudget,
      ...defined(rules),
    })),
    velocity: over(raw.velocity, base.velocity, (rules) => velocityOf(rules, base.velocity)),
    deadlock: over(raw.deadlock, base.deadlock, ({ cycle, on_trip: onTrip }) => ({
      ...DEADLOCK,
      ...defined({ cycle, onTrip }),
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
    cooldownMs: raw.cooldown === undefined ? base.cooldownMs : Math.ceil(raw.cooldown * 1000),
    maxTrips: raw.max_trips ?? base.maxTrips,
    fallback: raw.fallback ?? base.fallback,
  };
}

type RawVelocity = Exclude<RawProtections['velocity'], false | undefined>;

/** A section that names a limit has only the limits that it names. */
function velocityOf(raw: RawVelocity, base: VelocityRules | null): VelocityRules {
  const { usd_per_hour: usd, tokens_per_minute: tokens, on_trip: onTrip, fallback } = raw;
  const common = base ?? VELOCITY;
  const named = usd !== undefined || tokens !== undefined;
  return {
    usdPerHour: named ? (usd ?? null) : common.usdPerHour,
    tokensPerMinute: named ? (tokens ?? null) : common.tokensPerMinute,
    onTrip: onTrip ?? (fallback === undefined ? common.onTrip : 'cheaper'),
    fallback: fallback ?? common.fallback,
  };
}

function changesOf(raw: NonNullable<RawProtections['on_failure']>): Protections['onFailure'] {
  return Object.fromEntries(
    Object.entries(defined(raw)).map(([failure, cell]) => [
      failure,
      { retries: cell.retries, replans: cell.replans, last: cell.then },
    ]),
  );
}

type Switch = Exclude<keyof RawProtections, 'tier' | 'on_failure'>;

/** The risk of switching each protection off, and the alternative. */
const OFF: { readonly [key in Switch]: readonly [message: string, help: string] } = {
  hops: [
    'the hop limit is off: agents may hand a task on without end, until a budget is used up',
    'Remove `hops: false`, or set a smaller `budgets.model_calls`.',
  ],
  depth: ['the depth limit is off: nested teams may start further teams without end', 'Remove `depth: false`.'],
  spawn: [
    'the spawn limit is off: a model decides how many tasks are started, and each one costs money',
    'Remove `spawn: false`, or set `budgets.cost_usd`.',
  ],
  loop: [
    'the loop detector is off: an agent that repeats a call stops only when a budget is used up',
    'Remove `loop: false`, or set a smaller `budgets.tool_calls`.',
  ],
  breaker: [
    'the circuit breaker is off: calls go on to a model that keeps failing, and each one is paid',
    'Remove `breaker: false`, or set `budgets.retries`.',
  ],
  retry_budget: [
    'the retry budget is off: in an outage every call is repeated, by all runs at once',
    'Remove `retry_budget: false`, or set a larger `share`.',
  ],
  velocity: [
    'the velocity limit is off: a run may spend its whole budget within seconds',
    'Remove `velocity: false`, or set `budgets.cost_usd`.',
  ],
  deadlock: [
    'the deadlock monitor is off: agents that wait for each other stop only when a budget is used up',
    'Remove `deadlock: false`, or set a smaller `budgets.model_calls`.',
  ],
};

/** Protections that this release reads but does not enforce. */
const UNENFORCED: readonly Switch[] = ['depth', 'spawn'];

export function checkProtections(sections: Shaped<Sections>, report: Report): void {
  const raw = sections.value.protections;
  if (raw === undefined) return;
  for (const key of UNENFORCED)
    if (raw[key] !== undefined && raw[key] !== false)
      report.warning(
        'not-enforced',
        sections.at('protections', key),
        `\`protections.${key}\` is checked but not enforced by this release`,
        { help: 'Do not rely on it for safety yet.' },
      );
  for (const key of Object.keys(OFF) as Switch[]) {
    if (raw[key] !== false) continue;
    const [message, help] = OFF[key];
    report.warning('protection-off', sections.at('protections', key), message, { help });
  }
  checkLoop(raw, sections, report);
  checkFallbacks(raw, sections, report);
}

function checkLoop(raw: RawProtections, sections: Shaped<Sections>, report: Report): void {
  const { loop } = protectionsOf(raw);
  if (loop === null || loop.identical <= loop.window) return;
  const field = typeof raw.loop === 'object' && raw.loop.identical !== undefined ? 'identical' : 'window';
  report.error(
    'bad-value',
    sections.at('protections', 'loop', field),
    `the last ${loop.window} calls cannot contain ${loop.identical} identical ones`,
    { help: `Set \`identical\` to at most ${loop.window}, or \`window\` to at least ${loop.identical}.` },
  );
}

/** `cheaper` without a model would change nothing. */
function checkFallbacks(raw: RawProtections, sections: Shaped<Sections>, report: Report): void {
  const { velocity } = raw;
  if (typeof velocity !== 'object' || velocity.on_trip !== 'cheaper' || velocity.fallback !== undefined) return;
  report.error(
    'missing-field',
    sections.at('protections', 'velocity', 'on_trip'),
    '`on_trip: cheaper` needs a model to change to',
    { help: 'Add `fallback: { model: … }` to `velocity`.' },
  );
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
