/** What a run may use where its document says no more than what kind of work it is, and how it takes a false claim. */
import type { Consequence } from '../../../ir/nodes.ts';
import type { OnViolation } from '../../lower/agent-turn/grounding-check.ts';
import type { Budgets, PROFILES } from '../../document/schema/bounds.ts';

export type LoopProfile = (typeof PROFILES)[number];

type Preset = Required<Omit<Budgets, 'model_calls'>>;

/** The other two profiles are boundaries alone: nobody has said what such work may use. */
export const BUDGET_PRESETS: { readonly [profile in 'research' | 'coding' | 'sre']: Preset } = {
  research: {
    steps: 15,
    tool_calls: 30,
    external_calls: 5,
    input_tokens: 200_000,
    output_tokens: 30_000,
    wall_clock_seconds: 300,
    cost_usd: 2,
    retries: 3,
    reflections: 1,
    context_tokens: 100_000,
    memory_writes: 2,
    side_effects: 0,
  },
  coding: {
    steps: 30,
    tool_calls: 50,
    external_calls: 10,
    input_tokens: 400_000,
    output_tokens: 60_000,
    wall_clock_seconds: 600,
    cost_usd: 5,
    retries: 5,
    reflections: 2,
    context_tokens: 200_000,
    memory_writes: 5,
    side_effects: 2,
  },
  sre: {
    steps: 10,
    tool_calls: 15,
    external_calls: 2,
    input_tokens: 100_000,
    output_tokens: 15_000,
    wall_clock_seconds: 120,
    cost_usd: 1,
    retries: 2,
    reflections: 1,
    context_tokens: 50_000,
    memory_writes: 0,
    side_effects: 0,
  },
};

export function presetOf(profile: LoopProfile | null): Preset | null {
  return profile === null || profile === 'support' || profile === 'procurement' ? null : BUDGET_PRESETS[profile];
}

/** What the boundary calls it. */
export const ON_VIOLATION: { readonly [consequence in Consequence]: OnViolation } = {
  tell: 'repair',
  ask: 'escalate',
  fail: 'halt',
};
/** Where there is no profile: claims about effects of these classes are for a person to look at. */
export const GRAVE: ReadonlySet<string> = new Set(['financial', 'infrastructure']);

/** The same call is stopped when it comes that often among so many. */
export function breakerOf(given: { readonly identical?: number | undefined; readonly window?: number | undefined }): {
  readonly identical: number;
  readonly window: number;
} {
  return { identical: given.identical ?? 3, window: given.window ?? 5 };
}
/** Rounds of a run that names neither a profile nor a number of steps. */
export const STEPS_DEFAULT = 50;
/** A failed attempt of a call is repeated so often at most, where neither a profile nor a budget says otherwise. */
export const RETRIES_DEFAULT = 2;
