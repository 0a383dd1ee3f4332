/** A bounded loop with every default filled in. */
import { present } from '@sluice-internal/kernel/expr';
import type { Consequence, Expr } from '@sluice-internal/kernel/ir';
import { hasPeople, memoryOf, replySettings, stricterConsequence } from '@sluice-internal/compile/document';
import type { Budgets, Definitions, LoopRules, PROFILES as PROFILE_NAMES } from '@sluice-internal/compile/document';
import { rewriteNames, withInputFields } from '@sluice-internal/compile/expressions';
import { DEFAULT_VERIFIER, receiptsIn, verifierOf } from '@sluice-internal/compile/lower';
import type { OnViolation } from '@sluice-internal/compile/lower';
import type { RawLoop } from './schema.ts';

export interface Roles {
  readonly executor: string;
  readonly planner: string | null;
}

/** The loop after its defaults and those of its profile were filled in. */
export type Loop = ReturnType<typeof resolveDefaults>;

type LoopProfile = (typeof PROFILE_NAMES)[number];

/** Rounds of a loop without a profile and without `budgets.steps`. */
const STEPS_DEFAULT = 50;
/** Send-backs of an answer without a profile and without `budgets.reflections`. */
const REFLECTIONS_DEFAULT = 2;
/** Repetitions of a failed call without a profile and without `budgets.retries`. */
const RETRIES_DEFAULT = 2;

export function resolveDefaults(raw: RawLoop, roles: Roles, given: Definitions) {
  const profile = profileOf(given);
  const definitions = { ...withBudgets(given, profile), ...present({ approvalTimeout: raw.escalation?.timeout }) };
  const breaker: Partial<Breaker> = raw.breaker === undefined ? {} : breakerOf(raw.breaker, given.protections.loop);
  return {
    ...roles,
    ...withDefaults({ id: 'loop', requires: [], review: false }, raw),
    ...withDefaults({ description: null, goal: null }, raw),
    /** Null: no verifier judges the answer. It is on unless expressions alone judge it. */
    verifier: verifierOf(raw.verifier, isJudgedByExpressions(raw) ? null : DEFAULT_VERIFIER),
    profile,
    /** Criteria in words; the others are in `conditions`. */
    criteria: (raw.criteria ?? []).filter((each) => typeof each === 'string'),
    ...expressionsOf(raw, definitions),
    ...limitsOf(raw, definitions, roles.executor),
    grounding: groundingOf(raw, definitions, roles.executor),
    /** Null: nothing is remembered. */
    memory: memoryOf(raw.memory, given.boundary?.profile) ?? given.memory[roles.executor] ?? null,
    /** The rules of the loop detector that differ from `protections.loop`. */
    breaker,
    /** Repetitions of a failed model call. A profile counts all attempts of a call; `budgets.retries` counts the repetitions. */
    hasRetries: given.budgets?.retries !== undefined,
    retries: given.budgets?.retries ?? (presetOf(profile)?.retries ?? RETRIES_DEFAULT + 1) - 1,
    /** Rounds of the loop. */
    rounds: definitions.budgets?.steps ?? STEPS_DEFAULT,
    /** The shared sections, with the budgets of the profile. The loop itself reads and writes the memory of its agent. */
    definitions: { ...definitions, memory: {} },
  };
}

function profileOf({ boundary }: Definitions): LoopProfile | null {
  return boundary?.profile ?? null;
}

/** There is at least one criterion, and every criterion is an expression. */
export function isJudgedByExpressions({ criteria = [] }: RawLoop): boolean {
  return criteria.length > 0 && criteria.every((each) => typeof each !== 'string');
}

/** An expression over the answer and the evidence of the run. */
function overEvidence(when: Expr, tools: Definitions['tools']): Expr {
  return rewriteNames(withInputFields(when), ([root]) => (root === 'receipts' ? receiptsIn(tools) : null));
}

function expressionsOf(raw: RawLoop, { tools }: Definitions) {
  const { intents = [], guards = [], criteria = [] } = raw;
  const checks = criteria.filter((each) => typeof each !== 'string');
  return {
    intents: intents.map(({ id, when, description = id }) => ({ id, when: withInputFields(when), description })),
    guards: guards.map(({ when, code = 'UNSAFE_DETECTION', reason }) => ({
      when: withInputFields(when),
      code,
      reason,
    })),
    conditions: checks.map(({ when, reason, code = 'VALIDATION_FAIL' }) => ({
      when: overEvidence(when, tools),
      reason,
      code,
    })),
  };
}

function limitsOf(raw: RawLoop, definitions: Definitions, executor: string) {
  const { max_steps: stepsMax, ...plan } = raw.plan ?? {};
  const { timeout, ...escalation } = raw.escalation ?? {};
  return {
    plan: withDefaults({ stepsMax: 12, repairs: 2, approve: false }, { ...plan, stepsMax }),
    compression: withDefaults({ at: 0.8, window: contextTokens(definitions, executor) }, raw.compression),
    escalation: {
      ...withDefaults({ safer: null, expansions: 0 }, escalation),
      people: hasPeople(definitions, executor),
      timeoutMs: timeout === undefined ? null : Math.ceil(timeout * 1000),
    },
  };
}

/** The context window of the executor's model, or the budget's. */
function contextTokens({ agents, models, budgets }: Definitions, executor: string): number | null {
  const limits = models.find(agents[executor]?.model ?? null)?.['limits'] as
    | { readonly context_tokens?: number }
    | undefined;
  return limits?.context_tokens ?? budgets?.context_tokens ?? null;
}

function groundingOf({ grounding = {} }: RawLoop, definitions: Definitions, executor: string) {
  return {
    cite: grounding.cite === 'required',
    ...withDefaults({ values: 'names' as const }, grounding),
    ...(grounding.on_violation === undefined
      ? { onViolation: violationDefault(definitions, executor) }
      : { onViolation: grounding.on_violation }),
  };
}

const ON_VIOLATION: { readonly [consequence in Consequence]: OnViolation } = {
  tell: 'repair',
  ask: 'escalate',
  fail: 'halt',
};
/** The rule of the boundary; otherwise the answer goes back once, and then the verifier is told. */
function violationDefault(definitions: Definitions, executor: string): OnViolation {
  const consequence = ungroundedOf(definitions, executor);
  return consequence === undefined ? 'mark' : ON_VIOLATION[consequence];
}

/** The stricter consequence of an unsupported value in the two boundaries. Undefined if neither has one. */
export function ungroundedOf({ agentBoundaries, boundary }: Definitions, executor: string): Consequence | undefined {
  return [agentBoundaries[executor], boundary]
    .map((each) => each?.escalation?.ungrounded)
    .reduce(stricterConsequence, undefined);
}

/** From loose to strict. */
const VIOLATIONS: readonly OnViolation[] = ['mark', 'repair', 'escalate', 'halt'];

/** The consequence in the boundary that `on_violation` would loosen. Undefined if it loosens none. */
export function loosened(given: OnViolation, definitions: Definitions, executor: string): Consequence | undefined {
  const written = ungroundedOf(definitions, executor);
  if (written === undefined) return undefined;
  return VIOLATIONS.indexOf(given) < VIOLATIONS.indexOf(ON_VIOLATION[written]) ? written : undefined;
}

type Breaker = Pick<LoopRules, 'identical' | 'window'>;

export function breakerOf(given: RawLoop['breaker'], common: LoopRules | null): Breaker {
  return withDefaults({ identical: common?.identical ?? 3, window: common?.window ?? 5 }, given);
}

/** The document's own budgets count; the profile fills in the rest. */
function withBudgets(given: Definitions, profile: LoopProfile | null): Definitions {
  const budgets: Budgets = {
    ...(presetOf(profile) ?? { steps: STEPS_DEFAULT, reflections: REFLECTIONS_DEFAULT }),
    ...given.budgets,
  };
  const agents = Object.entries(given.agents).map(([id, agent]): [string, typeof agent] => {
    // Only a limit that the author did not write has `continuations`. It is computed again with the budgets of the profile.
    if (agent.maxOutputTokens !== null && agent.continuations === undefined) return [id, agent];
    const { temperature, settings } = agent;
    const known = { temperature: temperature ?? undefined, reasoningEffort: settings?.reasoningEffort };
    return [id, { ...agent, ...replySettings(known, budgets, given.models.find(agent.model)) }];
  });
  const seconds = budgets.wall_clock_seconds;
  return {
    ...given,
    budgets,
    agents: Object.fromEntries(agents),
    deadlineMs: seconds === undefined ? null : Math.ceil(seconds * 1000),
  };
}

/** The defaults, replaced by the fields of `given` that are defined. Fields without a default are left out. */
function withDefaults<Defaults extends object, Given extends { readonly [field in keyof Defaults]?: unknown }>(
  defaults: Defaults,
  given: Given | undefined,
): { readonly [field in keyof Defaults]: Defaults[field] | Exclude<Given[field], undefined> } {
  const entries = Object.entries(defaults).map(([field, value]) => [
    field,
    (given as { readonly [name: string]: unknown } | undefined)?.[field] ?? value,
  ]);
  return Object.fromEntries(entries) as { readonly [field in keyof Defaults]: Defaults[field] };
}

/** The budgets of the profiles. The specification prints three of them. */
export const BUDGET_PRESETS: { readonly [profile in LoopProfile]: Budgets } = {
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
  support: {
    steps: 15,
    tool_calls: 20,
    external_calls: 5,
    input_tokens: 200_000,
    output_tokens: 30_000,
    wall_clock_seconds: 300,
    cost_usd: 2,
    retries: 3,
    reflections: 2,
    context_tokens: 100_000,
    memory_writes: 2,
    side_effects: 5,
  },
  procurement: {
    steps: 30,
    tool_calls: 40,
    external_calls: 10,
    input_tokens: 400_000,
    output_tokens: 60_000,
    wall_clock_seconds: 600,
    cost_usd: 5,
    retries: 3,
    reflections: 2,
    context_tokens: 200_000,
    memory_writes: 2,
    side_effects: 5,
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

function presetOf(profile: LoopProfile | null): Budgets | null {
  return profile === null ? null : BUDGET_PRESETS[profile];
}
