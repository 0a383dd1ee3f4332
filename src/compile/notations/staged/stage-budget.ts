/** The budget of a stage: one meter per limited dimension. Every call of the stage charges it. */
import type { MeterId } from '../../../ir/nodes.ts';
import { EFFECT_DIMENSIONS } from '../../lower/budget-meters.ts';
import { nameOf } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Stage } from './model.ts';

export interface StageMeter {
  readonly id: MeterId;
  readonly max: number;
}

/** Adds the meters, if they are not there yet. A call without room goes where its node says, not to the end given here. */
export function stageMeters(l: Lowering, stage: Stage): readonly StageMeter[] {
  const { budget } = stage;
  if (budget === undefined) return [];
  const over = l.builder.end({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  const name = nameOf(l, stage.id);
  return EFFECT_DIMENSIONS.flatMap((row) => {
    const limit = budget[row.key];
    if (limit === undefined) return [];
    const max = Math.round(limit * row.scale);
    const id = l.builder.meter(`budget.${row.name}@stage:${name}`, {
      unit: row.name,
      max,
      over,
      label: `${name}.budget.${row.key}`,
    });
    return [{ id, max }];
  });
}
