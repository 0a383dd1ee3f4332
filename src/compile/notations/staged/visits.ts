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
  return kindsOf(staged, stage).reduce((total, kind) => total + triesOf(staged, stage, kind, action), 0);
}
