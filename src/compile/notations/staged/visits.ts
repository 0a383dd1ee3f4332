/**
 * How often each stage can run, from the cells of the decision table. The certificate multiplies these numbers with the cost
 * of a stage, so they are exact: a replan after a malformed plan, for example, does not reach the workers.
 */
import { cellOf } from '../../../catalog/failures.ts';
import type { FailureKind } from '../../../ir/protections.ts';
import { ESCALATIONS_MAX } from './lowering.ts';
import type { Staged } from './model.ts';

export interface Visits {
  readonly plan: number;
  readonly work: number;
  readonly aggregate: number;
  readonly validate: number;
  readonly finalize: number;
}

/** The place of a stage in the order. */
export type Place = keyof Visits;

/** For one start of the stages. */
export function visitsOf(staged: Staged): Visits {
  const replans = (place: Place): number =>
    Math.min(staged.replans, sum(KINDS[place], (kind) => tries(staged, kind, 'replan')));
  const retries = (place: Place): number => sum(KINDS[place], (kind) => tries(staged, kind, 'retry'));
  const rejected = retries('validate');
  const repeatsWork = staged.aggregate.agent === null;
  const plan =
    1 +
    replans('plan') +
    replans('work') +
    replans('aggregate') +
    replans('validate') +
    replans('finalize') +
    ESCALATIONS_MAX;
  const work = plan - replans('plan') + retries('work') + (repeatsWork ? rejected : 0);
  const aggregate = work - replans('work') - retries('work') + retries('aggregate') + (repeatsWork ? 0 : rejected);
  const validate = aggregate - replans('aggregate') - retries('aggregate');
  const finalize = validate - replans('validate') - rejected + retries('finalize');
  return { plan: plan + retries('plan'), work, aggregate, validate, finalize };
}

/** The kinds of failure that a stage can have and that the table answers with another try. */
const KINDS: { readonly [place in Place]: readonly FailureKind[] } = {
  plan: ['malformed_plan', 'tool_loop', 'no_progress', 'deadlock', 'cost_overrun', 'unsafe_output'],
  work: ['schema_or_grounding', 'tool_loop', 'no_progress', 'deadlock', 'cost_overrun', 'unsafe_output'],
  aggregate: ['schema_or_grounding', 'tool_loop', 'no_progress', 'deadlock', 'cost_overrun', 'unsafe_output'],
  validate: ['schema_or_grounding', 'tool_loop', 'no_progress', 'deadlock', 'cost_overrun', 'unsafe_output'],
  finalize: ['schema_or_grounding', 'tool_loop', 'no_progress', 'deadlock', 'cost_overrun', 'unsafe_output'],
};

function tries({ tier, definitions, replans }: Staged, kind: FailureKind, action: 'retry' | 'replan'): number {
  const { tries: all } = cellOf(kind, tier, definitions.protections.onFailure[kind], replans);
  return all.find((each) => each.action === action)?.max ?? 0;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
