/** A random flow in a random world, from one integer: what `npm run simulate` and the tests run. */
import fc from 'fast-check';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { SimulatedWorld } from '../../packages/testing/src/simulate-types.ts';
import { lower } from '../differential/lower.ts';
import { plans } from '../differential/plan.ts';
import type { Plan } from '../differential/plan.ts';
import { createWorld } from '../differential/world.ts';

export interface RandomRun {
  readonly plan: Plan;
  readonly flow: CompiledFlow;
  readonly input: Json;
  readonly world: SimulatedWorld;
  /** Whether how it ends is independent of time, so that a disturbed run can be held against a quiet one. */
  readonly comparable: boolean;
}

export function randomRun(seed: number): RandomRun {
  const plan = fc.sample(plans, { seed, numRuns: 1 })[0] as Plan;
  const flow = lower(plan);
  const { answer, person } = createWorld(plan.world, flow, { undoHolds: false });
  return {
    plan,
    flow,
    input: JSON.parse(JSON.stringify(plan.input)) as Json,
    world: {
      perform: answer,
      answer: ({ id, choices }) => {
        const dotted = id.slice(id.indexOf('.') + 1);
        if (!choices.includes('approve')) return person(dotted);
        // A question about a call that may have happened.
        const said = person(dotted);
        return said === null ? null : { ...said, choice: said.choice === 'yes' ? 'approve' : 'reject' };
      },
    },
    comparable: plan.forks !== 'early',
  };
}
