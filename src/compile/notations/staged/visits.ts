/**
 * How often each stage can run, from the cells of the decision table. The certificate multiplies these numbers with the cost
 * of a stage, so they are exact: a replan after a malformed plan, for example, does not reach the workers.
 */
import { kindsOf, mayEscalate, triesOf } from './kinds.ts';
import type { Stage, Staged } from './model.ts';

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
  const { plan, working, aggregate, validate, finalize } = staged;
  const stages = [plan, working, aggregate, validate, finalize];
  const replans = (stage: Stage): number => Math.min(staged.replans, sum(staged, stage, 'replan'));
  const retries = (stage: Stage): number => sum(staged, stage, 'retry');
  const rejected = retries(validate);
  const repeatsWork = aggregate.agent === null;
  const asked = stages.some((stage) => mayEscalate(staged, stage)) ? ESCALATIONS_MAX : 0;
  const planned = 1 + stages.reduce((total, stage) => total + replans(stage), 0) + asked;
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

function sum(staged: Staged, stage: Stage, action: 'retry' | 'replan'): number {
  return kindsOf(staged, stage).reduce((total, kind) => total + triesOf(staged, stage, kind, action), 0);
}
