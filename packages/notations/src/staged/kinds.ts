/**
 * The kinds of failure that a stage can have, and how often it can run. Only these kinds get recovery nodes, and only these
 * count in the certificate. It multiplies the runs with the cost of a stage, so they are exact: a replan after a malformed
 * plan, for example, does not reach the workers.
 */
import { cellOf, stagesIn } from '@sluice-internal/kernel/catalog';
import type { FailureKind } from '@sluice-internal/kernel/ir';
import type { Stage, Staged } from './model.ts';

export function kindsOf(staged: Staged, stage: Stage): readonly FailureKind[] {
  const agents = agentsOf(staged, stage);
  const { work, definitions } = staged;
  const isWork = stage.id === staged.working.id;
  const hasPolicies = stagesIn(definitions.policies).length > 0;
  const kinds: readonly (readonly [FailureKind, boolean])[] = [
    ['tool_loop', haveTools(staged, agents)],
    ['deadlock', (isWork && work.is === 'peers') || stage.timeoutMs !== null],
    ['cost_overrun', canOverspend(staged, stage, agents) || (isWork && work.is === 'swarm')],
    ['provider_error', agents.length > 0],
    ['malformed_plan', stage.id === 'plan'],
    ['no_progress', (isWork && work.is === 'board') || (stage.id === 'validate' && watchesRounds(staged))],
    ['unsafe_output', agents.length > 0 || stage.guards.length > 0 || hasPolicies],
    ['schema_or_grounding', stage.id !== 'plan' && (isWork || isChecked(staged, stage, agents))],
  ];
  return kinds.filter(([, possible]) => possible).map(([kind]) => kind);
}

function haveTools({ definitions }: Staged, agents: readonly string[]): boolean {
  return agents.some((agent) => (definitions.agents[agent]?.tools ?? []).length > 0);
}

/** True if the stage makes calls that a budget limits. */
function canOverspend({ validate, definitions }: Staged, stage: Stage, agents: readonly string[]): boolean {
  const calls = agents.length > 0 || (stage.id === 'validate' && validate.invariants.tools.length > 0);
  const { budget, protections } = stage;
  return calls && (definitions.budgets !== undefined || budget !== undefined || protections.velocity !== null);
}

/** Failures of the row `schema_or_grounding` whose cause is known better, by the type of their error. */
export function causesOf(staged: Staged, stage: Stage): readonly { readonly type: string; readonly cause: string }[] {
  if (stage.id === 'plan') return [];
  const { work, working, validate, oracle } = staged;
  const hasTools = haveTools(staged, agentsOf(staged, stage));
  const causes: readonly (readonly [type: string, cause: string, isPossible: boolean])[] = [
    ['RequiredError', 'missing_artifact', stage.requires.length > 0],
    ['EmptySummaryError', 'empty_summary', stage.id === working.id && (work.is === 'workers' || work.is === 'swarm')],
    ['GroundingError', 'grounding', hasTools || (stage.id === 'validate' && validate.invariants.cites.length > 0)],
    // The output fails the conditions of success, although a critic accepted the result or no critic checked it.
    ['OracleError', validate.agent === null ? 'incomplete' : 'overruled', stage.id === 'finalize' && oracle.length > 0],
  ];
  return causes.filter(([, , isPossible]) => isPossible).map(([type, cause]) => ({ type, cause }));
}

/** True if a gate of the stage can refuse a value, or if its agent can fail to give one. */
function isChecked({ validate, oracle, definitions }: Staged, stage: Stage, agents: readonly string[]): boolean {
  const { id, input, output, requires } = stage;
  const rules = id === 'validate' ? Object.values(validate.invariants).flat() : id === 'finalize' ? oracle : [];
  const judges = id === 'validate' && agents.length > 0;
  const strict = agents.some((agent) => {
    const def = definitions.agents[agent];
    return def !== undefined && (def.output !== null || def.tools.length > 0);
  });
  return judges || strict || input !== null || output !== null || requires.length + rules.length > 0;
}

/** Rounds of the same plan with the same result that count as no progress. */
export const SAME_ROUNDS_MAX = 2;

/** With the usual number of replans, the table ends the run before that many rounds are the same. */
export function watchesRounds(staged: Staged): boolean {
  return triesOf(staged, staged.validate, 'schema_or_grounding', 'replan') > SAME_ROUNDS_MAX;
}

/** The agents that take turns in a stage. */
function agentsOf({ plan, work, working }: Staged, stage: Stage): readonly string[] {
  if (stage.id === 'plan') return [plan.agent, plan.critic].filter((agent) => agent !== null);
  if (stage.id !== working.id) return stage.agent === null ? [] : [stage.agent];
  switch (work.is) {
    case 'debate':
      return work.judge === null ? work.agents : [...work.agents, work.judge];
    case 'sop':
      return work.steps.flatMap(({ agent }) => agent ?? []);
    case 'swarm':
      return [work.agent];
    case 'teams':
      return work.teams.flatMap(({ staged }) =>
        [staged.plan, staged.working, staged.aggregate, staged.validate, staged.finalize].flatMap((each) =>
          agentsOf(staged, each),
        ),
      );
    default:
      return work.agents;
  }
}

/** True if calls or workers are retried inside the stage, so that the stage itself is not. */
export function retriesInside({ id }: Stage, kind: FailureKind): boolean {
  return kind === 'provider_error' || (kind === 'schema_or_grounding' && id === 'workers');
}

/** The number of times that the table tries an action after this kind of failure. */
export function triesOf(
  { tier, replans }: Staged,
  { protections }: Stage,
  kind: FailureKind,
  action: 'retry' | 'replan',
): number {
  const { tries } = cellOf(kind, tier, protections.onFailure[kind], replans);
  return tries.find((each) => each.action === action)?.max ?? 0;
}

/** True if a failure of the stage can go to a person. */
export function mayEscalate(staged: Staged, stage: Stage): boolean {
  if (stage.id === 'validate' && (staged.validate.confidence !== null || staged.validate.review)) return true;
  if (stage.id === 'peers') return true;
  return kindsOf(staged, stage).some((kind) => {
    const { deadlock, declared, onFailure } = stage.protections;
    if (kind === 'deadlock' && declared.has('deadlock') && onFailure.deadlock === undefined)
      return deadlock?.onTrip === 'escalate';
    return cellOf(kind, staged.tier, onFailure[kind]).last === 'escalate';
  });
}

/** Questions to people in one run of the stages at most. */
export const ESCALATIONS_MAX = 5;

export interface Visits {
  readonly plan: number;
  readonly work: number;
  readonly aggregate: number;
  readonly validate: number;
  readonly finalize: number;
}

/** For one start of the stages. */
export function visitsOf(staged: Staged): Visits {
  const { plan, working, work, aggregate, validate, finalize } = staged;
  // Every step of a procedure has tries of its own.
  const parts = (stage: Stage): readonly Stage[] => (stage === working && work.is === 'sop' ? work.steps : [stage]);
  const total = (stage: Stage, of: (part: Stage) => number): number =>
    parts(stage).reduce((sum, part) => sum + of(part), 0);
  const stages = [plan, working, aggregate, validate, finalize];
  const replans = (stage: Stage): number =>
    total(stage, (part) => Math.min(staged.replans, triesIn(staged, part, 'replan')));
  const retries = (stage: Stage): number => total(stage, (part) => triesIn(staged, part, 'retry'));
  const rejected = retries(validate);
  const repeatsWork = aggregate.agent === null;
  const asked = stages.some((stage) => mayEscalate(staged, stage)) ? ESCALATIONS_MAX : 0;
  const planned = 1 + stages.reduce((sum, stage) => sum + replans(stage), 0) + asked;
  const worked = planned - replans(plan) + retries(working) + (repeatsWork ? rejected : 0);
  const aggregated = worked - replans(working) - retries(working) + retries(aggregate) + (repeatsWork ? 0 : rejected);
  const validated = aggregated - replans(aggregate) - retries(aggregate);
  const finalized = validated - replans(validate) - rejected + retries(finalize);
  return {
    plan: planned + retries(plan),
    work: worked,
    aggregate: aggregated,
    validate: validated,
    finalize: finalized,
  };
}

function triesIn(staged: Staged, stage: Stage, action: 'retry' | 'replan'): number {
  const kinds = kindsOf(staged, stage).filter((kind) => action === 'replan' || !retriesInside(stage, kind));
  return kinds.reduce((total, kind) => total + triesOf(staged, stage, kind, action), 0);
}
